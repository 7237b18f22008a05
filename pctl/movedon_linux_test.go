package pctl

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"ptools/internal/ptest"
)

// TestMovedOn: what a stack has beyond its copy, because the thread has changed stacks or has large frames, is shown
// while the thread stands still. When it has run on it has made other calls there, which are not shown: the stack is cut.
func TestMovedOn(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "../internal/sample/testdata/turns.c", "-O2", "-fno-inline"))
	g.Ready()
	p := grab(t, session(t, nil), g.PID, nil)
	seen := map[bool]int{}
	for i := 0; i < 20 || i < 1000 && (seen[true] == 0 || seen[false] == 0); i++ {
		held := i%2 == 0
		var th *Thread
		if err := p.Pause(bg, func(s *Snapshot) error {
			s.CopyStacks()
			if th = s.Threads()[0]; held {
				checkMoment(t, th, held, seen)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		begun := ran(t, g.PID)
		g.WaitFor("the next calls", func() bool { return ran(t, g.PID) > begun+1e6 })
		if !held {
			checkMoment(t, th, held, seen)
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("stacks beyond their copies while the thread stood, and later: %v", seen)
	}
}

// ran returns the processor time of a thread, in nanoseconds.
func ran(t *testing.T, tid int) (ns float64) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", tid))
	if err == nil {
		_, err = fmt.Sscan(string(b), &ns)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// checkMoment looks at a stack if a handler is on it, whose callers are on another stack.
func checkMoment(t *testing.T, th *Thread, held bool, seen map[bool]int) {
	t.Helper()
	frames, err := th.Calls()
	has := func(name string) bool {
		return slices.ContainsFunc(frames, func(f Frame) bool { return f.Func == name })
	}
	if !has("handler") {
		return
	}
	seen[held]++
	switch {
	case held && (err != nil || !has("raises") || has("innocent")):
		t.Errorf("while it stands: %v, %v", frames, err)
	case !held && (!errors.Is(err, ErrCut) || has("raises") || has("main")):
		t.Errorf("when it has run on: %v, %v", frames, err)
	}
}
