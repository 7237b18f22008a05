package profile

import "ptools/internal/clean"

// Clean makes a name from a target fit for a terminal and for line-oriented
// formats, as clean.Text does.
func Clean(name string) string { return clean.Text(name) }
