package sample

import (
	"strings"
	"testing"
	"time"

	"ptools/internal/profile"
	"ptools/internal/ptest"
)

// TestSigreturn: a thread in rt_sigreturn(2) is in its trampoline, called by the function that the signal has
// interrupted, and not in the function behind the trampoline. The kernel's entry has set rcx to the address behind the
// system call instruction. It restores some registers before others, so that a few stacks do not show that.
func TestSigreturn(t *testing.T) {
	needTimers(t)
	total := 0.0
	for libc, exe := range map[string]string{
		"glibc": ptest.BuildC(t, "testdata/handled.c", "-static"),
		"musl":  ptest.BuildMusl(t, "testdata/handled.c", "-static"),
	} {
		g := ptest.Start(t, exe)
		g.Ready()
		s := sampleBy(t, TimersOnly, int64(ptest.Rounds(300, 600, 5000)), time.Second/999, nil, attach(t, g.PID, nil))
		var in, right float64
		for line := range strings.Lines(folded(t, s, profile.Samples)) {
			i := strings.LastIndexByte(line, ' ')
			stack, n := line[:i], number(strings.TrimSpace(line[i+1:]))
			if strings.HasSuffix(stack, ";[rt_sigreturn]") {
				in += n
				if strings.Contains(stack, ";main;") && strings.HasSuffix(stack, ";__restore_rt;[rt_sigreturn]") {
					right += n
				}
			}
		}
		if total += in; right < 0.85*in-2 {
			t.Errorf("%s: %v of %v stacks in rt_sigreturn are right\n%s", libc, right, in, folded(t, s, profile.Samples))
		}
	}
	if total == 0 {
		t.Error("no stack is in rt_sigreturn")
	}
}
