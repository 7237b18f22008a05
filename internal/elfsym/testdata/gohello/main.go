// A Go program with calls that are inlined twice.
package main

import "os"

func inner(v int) int { return v*31 + 7 }

func middle(v int) int { return inner(v) ^ inner(v+1) }

//go:noinline
func outer(v int) int { return middle(v) + 1 }

func main() { os.Exit(outer(len(os.Args)) & 1) }
