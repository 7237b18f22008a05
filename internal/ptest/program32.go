package ptest

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
)

// Build32 is BuildC for the program of 32-bit code, program32.S. Where the kernel executes no such programs it skips the test.
func Build32(t testing.TB) string {
	t.Helper()
	exe := BuildC(t, "program32.S", "-m32", "-nostdlib", "-static")
	if err := exec.Command(exe).Run(); errors.Is(err, syscall.ENOEXEC) {
		t.Skipf("this kernel executes no 32-bit programs: %v", err)
	}
	return exe
}
