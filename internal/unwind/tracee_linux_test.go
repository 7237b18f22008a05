package unwind

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"testing"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// A tracee is a process whose threads a test has seized, from a goroutine that is
// locked to its OS thread.
type tracee struct {
	t     testing.TB
	pid   int
	tids  []int
	mem   *os.File
	stack []byte
}

// seize attaches to all threads of a process.
func seize(t testing.TB, pid int) *tracee {
	t.Helper()
	runtime.LockOSThread()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if errors.Is(err, fs.ErrPermission) {
		t.Skip(err) // its program is set-group-ID, as ssh-agent's
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &tracee{t: t, pid: pid, mem: mem, stack: make([]byte, 64<<10)}
	t.Cleanup(func() { mem.Close() })
	tids, err := procfs.Tasks(pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tid := range tids {
		if err := ptrace.Seize(tid, ptrace.OptClone); err != nil {
			t.Fatalf("seize %d: %v", tid, err)
		}
		r.tids = append(r.tids, tid)
	}
	return r
}

// look stops a thread, calls f with its registers and a copy of its stack, and resumes
// it. It reports false for a thread that has ended.
func (r *tracee) look(tid int, f func(regs *ptrace.Regs, stack Stack)) bool {
	if !r.stop(tid) {
		return false
	}
	var regs ptrace.Regs
	if err := ptrace.GetRegs(tid, &regs); err != nil {
		r.t.Fatal(err)
	}
	f(&regs, r.copyStack(&regs))
	if err := ptrace.Cont(tid, 0); err != nil {
		r.t.Fatal(err)
	}
	return true
}

// copyStack copies what can be read above the stack pointer.
func (r *tracee) copyStack(regs *ptrace.Regs) Stack {
	n, _ := r.mem.ReadAt(r.stack, int64(regs.SP()))
	return Stack{Base: regs.SP(), Data: r.stack[:n], Mem: r.mem}
}

// await lets a thread run a little further, if it runs at all: until it has used 20
// microseconds of processor time, or has been checked often enough.
func (r *tracee) await(tid int) {
	task, err := procfs.OpenTask(r.pid, tid)
	if err != nil {
		return
	}
	defer task.Close()
	first, err := task.SchedStat()
	for i := 0; i < 100 && err == nil; i++ {
		var now procfs.SchedStat
		if now, err = task.SchedStat(); now.Run-first.Run > 20_000 {
			return
		}
	}
}

// stop interrupts a thread and waits until it has stopped.
func (r *tracee) stop(tid int) bool {
	if ptrace.Interrupt(tid) != nil {
		return false
	}
	for {
		s, err := ptrace.Wait(true)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			r.t.Fatal(err)
		}
		if s.TID == tid && s.Kind == ptrace.KindEventStop {
			return true
		}
		if s.Kind.Ended() {
			if s.TID == tid {
				return false
			}
			continue
		}
		if s.TID == tid && ptrace.Interrupt(tid) != nil { // a stop for another reason has consumed the interrupt
			return false
		}
		r.pass(s)
	}
}

// pass resumes a thread that has stopped for another reason.
func (r *tracee) pass(s ptrace.Stop) {
	var err error
	switch s.Kind {
	case ptrace.KindGroupStop:
		err = ptrace.Listen(s.TID)
	case ptrace.KindSignal:
		err = ptrace.Cont(s.TID, s.Signal)
	default:
		err = ptrace.Cont(s.TID, 0)
	}
	if err != nil && err != syscall.ESRCH {
		r.t.Fatal(err)
	}
}

// release detaches from all threads, those included that are born meanwhile: one that stayed attached could not end before this thread does.
func (r *tracee) release() {
	released := make(map[int]bool)
	for more := true; more; {
		more = false
		tids, _ := procfs.Tasks(r.pid, nil)
		for _, tid := range tids {
			if released[tid] {
				continue
			}
			released[tid], more = true, true
			if r.stop(tid) {
				ptrace.Detach(tid, 0)
			}
		}
	}
}
