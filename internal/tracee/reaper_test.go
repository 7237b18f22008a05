package tracee

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

// TestReaper seizes a thread of a process in an execve(2) that waits until the end of another thread is collected. The
// creator of that thread was seized before its birth, and its tracer has not noticed its end.
func TestReaper(t *testing.T) {
	if !ptrace.Supported {
		t.Skip("no ptrace")
	}
	target := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "execstorm.c"), "-t", "1", "-n", "0")
	target.Ready()
	ended := make(chan struct{})
	seized := make(chan error, 1)
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		born, err := traceBirth(target.PID)
		if err == nil {
			r := newReaper()
			defer r.close()
			g := &Group{Tracer: NewTracer(ModeRun), PID: target.PID}
			g.Seizer.g = g
			err = g.Seizer.seize(target.PID, target.PID, r)
		}
		seized <- err
		syscall.Kill(target.PID, syscall.SIGKILL)
		ptrace.WaitTID(born, false)
		for s, err := ptrace.WaitTID(target.PID, true); err == nil && !s.Kind.Ended(); s, err = ptrace.WaitTID(target.PID, true) {
			ptrace.Cont(target.PID, 0)
		}
	}()
	select {
	case err := <-seized:
		if err != syscall.EPERM { // it is traced already
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("PTRACE_SEIZE does not return")
		syscall.Kill(target.PID, syscall.SIGKILL)
	}
	<-ended
	target.Finish()
}

// traceBirth seizes a process, and waits until the execve of the process ends a thread that was born since.
func traceBirth(pid int) (born int, err error) {
	if err := ptrace.Seize(pid, seizeOptions); err != nil {
		return 0, err
	}
	for born == 0 || !zombie(pid, born) {
		s, err := ptrace.Wait(born == 0)
		switch {
		case err != nil:
			return 0, err
		case s.Kind == ptrace.KindNone:
			continue
		case s.TID != pid:
			born = s.TID
		}
		ptrace.Cont(s.TID, 0)
	}
	return born, nil
}

// zombie reports whether a thread has ended and its end has not been collected.
func zombie(pid, tid int) bool {
	st, err := procfs.ReadTaskStat(pid, tid)
	return err == nil && st.State == 'Z'
}
