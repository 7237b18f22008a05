package pctl

import (
	"errors"
	"slices"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

const userfaultfd = 323 // number of the system call, on x86-64

// TestLazyPages: a stack whose pages another, stopped, thread of the process has to bring does not delay the
// others. It is left out, and reported as such; the others are whole. The pages that were being read are
// brought when the process runs again.
func TestLazyPages(t *testing.T) {
	fd, _, errno := syscall.Syscall(userfaultfd, 0, 0, 0)
	if errno != 0 {
		t.Skip("userfaultfd, for faults of the kernel: ", errno)
	}
	syscall.Close(int(fd))
	for _, kind := range []string{"served", "plain"} {
		t.Run(kind, func(t *testing.T) {
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "lazypages.c"), "-k", kind)
			g.Ready()
			g.WaitFor("all threads asleep", func() bool {
				return !slices.ContainsFunc(g.Threads(), func(tid int) bool { return g.ThreadState(tid) != 'S' })
			})
			s := session(t, nil)
			p := grab(t, s, g.PID, nil)
			var threads []*Thread
			if err := p.Pause(bg, func(s *Snapshot) error {
				s.CopyStacks()
				threads = s.Threads()
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			cut := 0
			for _, th := range threads {
				frames, err := th.Calls()
				if errors.Is(err, errStuck) {
					cut++
					if len(frames) == 0 || !errors.Is(err, ErrCut) {
						t.Errorf("%d frames, %v", len(frames), err)
					}
					continue
				}
				if !slices.ContainsFunc(frames, func(f Frame) bool { return f.Func == "main" || f.Func == "serve" || f.Func == "below" }) {
					t.Errorf("thread %d: %v, %v", th.TID, frames, err)
				}
			}
			if want := map[string]int{"served": 1, "plain": 0}[kind]; cut != want {
				t.Errorf("%d of %d stacks are left out, want %d", cut, len(threads), want)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if out, state := g.Finish(); !state.Success() {
				t.Errorf("it ends with %v, %q", state, out)
			}
		})
	}
}
