package control

import (
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"ptools/internal/guard"
	"ptools/internal/ptest"
	"ptools/internal/ptrace"
	"ptools/pctl/notify"
)

// TestAlert: the control thread is alert while int3s are in the text of a target that is to outlive
// us, and hits are rare. It is not while functions of clients run, nor for a target that is killed
// with us.
func TestAlert(t *testing.T) {
	needX86(t)
	exe := ptest.BuildC(t, "hits.c")
	policy := func(tid int) uint32 {
		t.Helper()
		attr, err := unix.SchedGetAttr(tid, 0)
		if err != nil {
			t.Fatal(err)
		}
		return attr.Policy
	}
	var may ptrace.Alert
	done := make(chan bool)
	go func() {
		runtime.LockOSThread() // for good
		may.On()
		done <- policy(0) == unix.SCHED_FIFO
	}()
	if !<-done {
		t.Skip("no right to real-time priorities")
	}
	for _, tt := range []struct {
		name  string
		pause string // of the target between hits, in us
		mode  Mode
		alert bool
	}{
		{"rare", "5000", ModeRun, true},
		{"as many as there can be", "0", ModeRun, false},
		{"killed with us", "5000", ModeKill, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := ptest.Start(t, exe, "-p", tt.pause)
			g.Ready()
			c := attach(t, g.PID, &Options{Trap: TrapInt3, Mode: tt.mode, Guard: new(guard.Guard), Stop: []notify.Point{notify.Grab}})
			if err := c.Continue(bg); err != nil {
				t.Fatal(err)
			}
			var raised, hits atomic.Int64
			b, err := c.BreakSymbol(bg, "", "hot", 0, func(*Hit) {
				hits.Add(1)
				if policy(0) != unix.SCHED_NORMAL {
					raised.Add(1)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			control := int(c.tracees.Line.TID.Load())
			g.WaitFor("hits", func() bool { return hits.Load() > 10 })
			want := uint32(unix.SCHED_NORMAL)
			if tt.alert {
				want = unix.SCHED_FIFO
			}
			g.WaitFor("its policy", func() bool { return policy(control) == want })
			if err := b.Remove(bg); err != nil {
				t.Fatal(err)
			}
			if n := raised.Load(); n != 0 {
				t.Errorf("%d of %d handlers ran with a priority", n, hits.Load())
			}
			release(t, c, ModeRun)
		})
	}
}
