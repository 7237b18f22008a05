package ptrace

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

// TestAlert: an alert thread has the priority, and stays on one processor. Afterwards it is scheduled as
// before. Processes that it makes meanwhile do not have the priority.
func TestAlert(t *testing.T) {
	runtime.LockOSThread() // for good: the thread ends with the test
	Prompt()
	scheduling := func(pid int) (unix.SchedAttr, unix.CPUSet) {
		t.Helper()
		attr, err := unix.SchedGetAttr(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		var cpus unix.CPUSet
		if err := unix.SchedGetaffinity(pid, &cpus); err != nil {
			t.Fatal(err)
		}
		return *attr, cpus
	}
	before, cpus := scheduling(0)
	var last int
	for cpu := range 1024 {
		if cpus.IsSet(cpu) {
			last = cpu
		}
	}
	var a Alert
	for range 3 {
		a.On()
		if now, _ := scheduling(0); now.Policy != unix.SCHED_FIFO {
			t.Skip("no right to real-time priorities")
		}
		a.Keep(1023) // there is no such processor
		if _, now := scheduling(0); now != cpus {
			t.Error("kept on a processor that is not there")
		}
		a.Keep(last)
		if _, now := scheduling(0); !now.IsSet(last) || now.Count() != 1 {
			t.Errorf("kept on %d processors, not on %d", now.Count(), last)
		}
		child := ptest.Start(t, "/bin/cat")
		if now, _ := scheduling(child.PID); now.Policy != unix.SCHED_NORMAL {
			t.Errorf("a child has policy %d", now.Policy)
		}
		a.Off()
		after, where := scheduling(0)
		if after != before || where != cpus {
			t.Errorf("scheduling is %+v on %d processors, was %+v on %d", after, where.Count(), before, cpus.Count())
		}
	}
}

// TestAlertOwnPolicy: a program that has been given a policy keeps it.
func TestAlertOwnPolicy(t *testing.T) {
	runtime.LockOSThread()
	own := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH}
	if err := unix.SchedSetAttr(0, &own, 0); err != nil {
		t.Fatal(err)
	}
	var a Alert
	a.On()
	a.Keep(0)
	if now, err := unix.SchedGetAttr(0, 0); err != nil || now.Policy != unix.SCHED_BATCH {
		t.Errorf("scheduling is %+v, %v", now, err)
	}
	a.Off()
}
