package tracee

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"ptools/internal/mem"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Seizer makes the control goroutine's OS thread the tracer of all threads that are to be traced.
type Seizer struct {
	g             *Group
	Start         uint64                 // of the target that was attached to, in ticks since boot
	Told          Mode                   // what the kernel has been told to do with the target when we die
	changes       int                    // how often the leader seems to have been replaced while it was seized
	NewbornSeized bool                   // each thread of the target, and each process that is about to get a copy of its memory, is traced
	Alone         bool                   // the processes that share its memory, if any, are traced as well
	strangers     map[procfs.Listed]bool // processes that are known not to share the target's memory (survey)
}

// seizeOptions are set for every thread that is seized. New threads and children inherit them.
const seizeOptions = ptrace.OptClone | ptrace.OptFork | ptrace.OptVfork | ptrace.OptVforkDone | ptrace.OptExec

func (s *Seizer) Options(m Mode) ptrace.Options {
	if m == ModeKill {
		return seizeOptions | ptrace.OptExitKill
	}
	return seizeOptions
}

// SeizeAll seizes every thread of the process. The kernel attaches the clones of a seized
// thread. The clones of other threads are found by reading the task directory until two
// passes in a row have found no new thread. A refusal by a seccomp filter is a *FilterError.
func (s *Seizer) SeizeAll(ctx context.Context) error {
	if st, err := procfs.ReadStat(s.g.PID); err == nil {
		s.Start = st.StartTime
		if st.PPID == ptrace.ProcessID() {
			s.g.Reports.own = s.g.PID
		}
	}
	r := newReaper()
	defer r.close()
	var tids []int
	for quiet := 0; quiet < 2; {
		var err error
		if tids, err = procfs.Tasks(s.g.PID, tids[:0]); err != nil {
			if len(s.g.Threads) == 0 {
				return syscall.ESRCH
			}
			return nil // its end will be reported
		}
		found, err := s.seizePass(tids, r)
		if err != nil {
			return Filtered(err)
		}
		quiet++
		if found {
			quiet = 0
		}
		s.g.Waiter.drain()
		if s.g.phase.Over() {
			return ErrEnded
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if s.g.Count() == 0 {
		return syscall.ESRCH
	}
	return nil
}

// seizePass seizes those of tids that are new. Workers of the kernel in the process are left alone: a stop ends their requests.
func (s *Seizer) seizePass(tids []int, r *reaper) (found bool, err error) {
	for _, tid := range tids {
		if t := s.g.Threads[tid]; t != nil {
			if tid != s.g.PID || s.leaderIsOurs() {
				continue
			}
			s.g.Drop(t) // a thread that we had not seized yet has taken the number by execve(2)
		}
		if procfs.IsWorker(s.g.PID, tid) {
			continue
		}
		err := s.seize(s.g.PID, tid, r)
		switch {
		case err == nil:
			found = true
			s.g.Add(tid, RoleThread, StateRunning)
		case errors.Is(err, syscall.ESRCH):
			// Gone since the directory was read.
		case errors.Is(err, syscall.EPERM):
			switch s.whyNot(tid) {
			case seizeOurs:
				found = true
				s.addOurs(tid)
			case seizeDead:
			case seizeAgain:
				s.changes++
				found = true
			default:
				return found, err
			}
		default:
			return found, err
		}
	}
	return found, nil
}

// seize seizes one thread of a process, and keeps the wait statuses that r has collected meanwhile.
func (s *Seizer) seize(pid, tid int, r *reaper) error {
	r.enter(pid, s.g.Reports.stands)
	err := s.seizeOne(tid)
	s.g.Reports.stolen = append(s.g.Reports.stolen, r.leave()...)
	return err
}

func (s *Seizer) seizeOne(tid int) error {
	err := ptrace.Seize(tid, s.Options(s.g.mode))
	s.g.Trace.About(tid, DeedSeize, 0, err)
	return err
}

// leaderIsOurs reports whether we trace the thread that has the leader's number.
func (s *Seizer) leaderIsOurs() bool {
	if s.g.Reports.own != s.g.PID {
		_, err := ptrace.PeekTID(s.g.PID, false)
		return err != syscall.ECHILD
	}
	st, err := procfs.ReadStatus(s.g.PID)
	return err == nil && st.TracerPID == ptrace.ThreadID()
}

// addOurs makes the record of a thread that we trace already. Either its creator was
// seized before its birth, and the creator's event is still to come, perhaps after the
// thread's end. Or it was seized under another number while it was in execve(2), which
// has made it the leader.
func (s *Seizer) addOurs(tid int) {
	if tid == s.g.PID {
		s.g.Add(tid, RoleThread, StateRunning)
		return
	}
	s.g.Early[tid] = Early{s.g, RoleThread}
	s.g.Add(tid, RoleThread, StateBorn)
}

// refusal is the meaning of an EPERM from PTRACE_SEIZE.
type refusal uint8

const (
	seizeDenied refusal = iota
	seizeOurs           // we trace it already: its creator was seized before it was born
	seizeDead           // it is a zombie: the dead leader of a living process, or a thread that ends
	seizeAgain          // it was a zombie: a thread that execs has taken the place of the dead leader since
)

func (s *Seizer) whyNot(tid int) refusal {
	st, err := procfs.ReadTaskStatus(s.g.PID, tid)
	switch {
	case err != nil || st.State == 'Z' || st.State == 'X':
		return seizeDead
	case st.TracerPID == ptrace.ThreadID(): // the kernel names the tracing thread
		return seizeOurs
	case tid == s.g.PID && st.TracerPID == 0 && s.changes < mostReplaced && ptrace.Filtered() == nil && s.permitted():
		return seizeAgain
	}
	return seizeDenied
}

// mostReplaced bounds how often the leader may have been replaced while it was seized. Each
// replacement takes a whole execve(2) of another thread. The bound is needed because a security
// module that allows access to the memory and denies tracing looks the same.
const mostReplaced = 16

// FilterError is the error of a ptrace(2) that a seccomp filter refuses. It satisfies
// fs.ErrPermission, whatever errno the filter has chosen.
type FilterError struct{ Errno error }

func (e *FilterError) Error() string {
	return fmt.Sprintf("a seccomp filter refuses ptrace(2): %v", e.Errno)
}

// Is implements errors.Is.
func (e *FilterError) Is(target error) bool { return target == fs.ErrPermission }

// Filtered returns err, an error of PTRACE_SEIZE, or a *FilterError if a seccomp filter refuses ptrace(2).
func Filtered(err error) error {
	if errno := ptrace.Filtered(); errno != nil {
		return &FilterError{errno}
	}
	return err
}

// permitted reports whether we may trace the target. It opens the target's memory, which
// the same check guards (ptrace(2), Ptrace access mode checking). The check has been passed
// also where the target gets another memory meanwhile.
func (s *Seizer) permitted() bool {
	m, err := mem.Open(s.g.PID)
	if err == syscall.ESRCH {
		st, err := procfs.ReadStat(s.g.PID)
		return err == nil && !st.Kthread()
	}
	if err != nil {
		return false
	}
	m.Close()
	return true
}

// InExec reports whether a thread of the target is in an execve(2) that has ended the leader already.
func (s *Seizer) InExec() bool {
	st, err := procfs.ReadTaskStat(s.g.PID, s.g.PID)
	if err == nil && st.State != 'Z' && st.State != 'X' && st.Flags&procfs.FlagExiting == 0 {
		return false
	}
	for tid, t := range s.g.Threads {
		if t.Role != RoleThread || tid == s.g.PID {
			continue
		}
		task, err := procfs.OpenTask(s.g.PID, tid)
		if err != nil {
			continue
		}
		in, err := task.Syscall()
		task.Close()
		if err != nil {
			continue
		}
		switch procfs.SyscallName(in.Nr) {
		case "execve", "execveat":
			return true
		}
	}
	return false
}
