package pctl

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
)

// TestRequestOfWorker: what a worker of io_uring waits for goes on when the process is stopped: the kernel would end it with an error.
func TestRequestOfWorker(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "uringopen.c"), filepath.Join(t.TempDir(), "fifo"))
	if g.Line() == "none" {
		t.Skip("the kernel lets nobody have io_uring")
	}
	g.WaitFor("a worker that waits", func() bool {
		tids := g.Threads()
		i := slices.IndexFunc(tids, func(tid int) bool { return tid != g.PID && procfs.IsWorker(g.PID, tid) })
		if i < 0 {
			return false
		}
		stat, err := procfs.ReadTaskStat(g.PID, tids[i])
		return err == nil && stat.State == 'S'
	})
	s := session(t, nil)
	for range 3 {
		p := grab(t, s, g.PID, nil)
		if err := p.Pause(bg, func(s *Snapshot) error {
			if n := len(s.Threads()); n != 1 {
				t.Errorf("%d threads are held", n)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := p.Release(bg); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprintln(g.Stdin)
	if line := g.Line(); line != "opened" {
		t.Errorf("the request has %s", line)
	}
	g.Finish()
}
