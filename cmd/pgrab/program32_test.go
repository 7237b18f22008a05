package main

import (
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestProgram32: the line of the exec says what is not done for a 32-bit program, which is unharmed.
func TestProgram32(t *testing.T) {
	t.Parallel()
	exe := ptest.Build32(t)
	r := pgrab(t, nil, "-H", "0", "-b", "write", "--", "sh", "-c", "exec "+exe)
	if !strings.Contains(r.stdout, "program32, a 32-bit program: its stacks are not unwound, and no breakpoint is set in it\n") || r.status != 7 {
		t.Errorf("exit status %d", r.status)
	}
}
