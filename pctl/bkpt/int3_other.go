//go:build !amd64

package bkpt

// There are no plans on this architecture, so no breakpoint is ever made and
// these are never seen in a target.
const (
	breakByte = 0xcc
	siKernel  = 0x80
)
