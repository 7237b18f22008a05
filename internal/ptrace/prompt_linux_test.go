package ptrace

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

// TestPrompt: a thread that asks for short slices keeps its nice value and policy. Processes that it makes have
// slices as usual.
func TestPrompt(t *testing.T) {
	runtime.LockOSThread() // for good: the thread ends with the test
	scheduling := func() *unix.SchedAttr {
		a, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, ThreadID(), 3); err != nil {
		t.Fatal(err)
	}
	before := scheduling()
	Prompt()
	after := scheduling()
	if before.Runtime != 0 && after.Runtime != shortSlice { // the kernel returns the slice since Linux 6.12
		t.Errorf("slices of %d ns, want %d", after.Runtime, shortSlice)
	}
	after.Runtime, after.Flags = before.Runtime, before.Flags
	if *after != *before {
		t.Errorf("scheduling is %+v, was %+v", *after, *before)
	}
	g := ptest.Start(t, "/bin/cat") // made by this thread
	child, err := unix.SchedGetAttr(g.PID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if *child != *before {
		t.Errorf("scheduling of a child is %+v, was %+v", *child, *before)
	}
}
