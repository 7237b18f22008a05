package pctl

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestParkedThreads: threads that Go's scheduler has parked have no frame of the goroutine that they ran before.
func TestParkedThreads(t *testing.T) {
	want := ptest.Rounds(100, 1000, 1000)
	g := ptest.Start(t, ptest.BuildGo(t, "parked.go"), "-n", strconv.Itoa(want))
	g.Ready()
	p := grab(t, session(t, nil), g.PID, nil)
	defer p.Close()
	parked, working := 0, 0
	for range ptest.Rounds(3, 10, 100) {
		if err := p.Pause(bg, func(s *Snapshot) error {
			s.CopyStacks()
			for _, th := range s.Threads() {
				frames, err := th.Stack()
				var names []string
				for _, f := range frames {
					names = append(names, f.Func)
				}
				user := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "main.") || strings.HasPrefix(name, "syscall.") })
				if !slices.Contains(names, "runtime.stopm") && !slices.Contains(names, "runtime.schedule") {
					if user >= 0 {
						working++
					}
					continue
				}
				if parked++; user >= 0 || err != nil {
					t.Errorf("thread %d: %q, %v", th.TID, names, err)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d stacks of parked threads, %d of threads that work", parked, working)
	if parked < want || working == 0 {
		t.Errorf("%d stacks of parked threads, %d of threads that work", parked, working)
	}
}

// TestUnstoppableStack: a parent in vfork(2) cannot be stopped. Where it waits is shown all the same.
func TestUnstoppableStack(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "vforkwait.c"))
	g.Ready()
	p := grab(t, session(t, nil), g.PID, nil)
	defer p.Close()
	var asleep []*Thread
	if err := p.Pause(bg, func(s *Snapshot) error {
		for _, th := range s.Threads() {
			if th.State != Unstoppable {
				continue
			}
			asleep = append(asleep, th)
			frames, err := th.Stack()
			var names []string
			for _, f := range frames {
				names = append(names, f.Func)
			}
			if err != nil || len(names) < 3 || !strings.HasSuffix(names[0], "vfork") || names[1] != "hang" {
				t.Errorf("%q, %v", names, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(asleep) != 1 {
		t.Fatalf("%d threads could not be stopped", len(asleep))
	}
	g.Stdin.Close() // the child ends, and the thread then
	g.WaitFor("its end", func() bool { return !slices.Contains(g.Threads(), asleep[0].TID) })
	if frames, err := asleep[0].Stack(); !errors.Is(err, ErrUnstoppable) {
		t.Errorf("a stack of another moment: %v, %v", frames, err)
	}
}
