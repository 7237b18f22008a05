package main

import (
	"fmt"

	"ptools/internal/profile"
)

// tellMissing says which debug information was missing for the names.
func (s *session) tellMissing() {
	if s.cfg.quiet {
		return
	}
	for _, err := range s.files.Missing() {
		fmt.Fprintf(s.stderr, "psample: %s\n", profile.Clean(err.Error()))
	}
}
