package control

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

// seizer makes this thread the tracer of all that is to be traced.
type seizer struct {
	g             *tracees
	start         uint64       // of the target that was attached to, in ticks since boot
	told          Mode         // what the kernel does with the target when we die
	changes       int          // how often the leader seems to have been replaced while it was seized
	newbornSeized bool         // each thread of the target, and whoever is about to get a copy of its memory, is traced
	alone         bool         // so are the processes that share its memory, if any
	strangers     map[int]bool // processes that are known not to share the target's memory (survey)
}

// seizeOptions are armed with every thread; new threads and children inherit them.
const seizeOptions = ptrace.OptClone | ptrace.OptFork | ptrace.OptVfork | ptrace.OptVforkDone | ptrace.OptExec

func (s *seizer) options(m Mode) ptrace.Options {
	if m == ModeKill {
		return seizeOptions | ptrace.OptExitKill
	}
	return seizeOptions
}

// seizeAll seizes every thread of the process. A seized thread's clones attach
// themselves; those of the others are found by reading the task directory until two
// passes in a row have found nobody new. A refusal by a seccomp filter is a *FilterError.
func (s *seizer) seizeAll(ctx context.Context) error {
	if st, err := procfs.ReadStat(s.g.pid); err == nil {
		s.g.reports.own, s.start = st.PPID == ptrace.ProcessID(), st.StartTime
	}
	r := newReaper()
	defer r.close()
	var tids []int
	for quiet := 0; quiet < 2; {
		var err error
		if tids, err = procfs.Tasks(s.g.pid, tids[:0]); err != nil {
			if len(s.g.threads) == 0 {
				return syscall.ESRCH
			}
			return nil // its end will be reported
		}
		found, err := s.seizePass(tids, r)
		if err != nil {
			return filtered(err)
		}
		quiet++
		if found {
			quiet = 0
		}
		s.g.waiter.drain()
		if s.g.phase.over() {
			return ErrEnded
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if s.g.count() == 0 {
		return syscall.ESRCH
	}
	return nil
}

// seizePass seizes those of tids that are new.
func (s *seizer) seizePass(tids []int, r *reaper) (found bool, err error) {
	for _, tid := range tids {
		if t := s.g.threads[tid]; t != nil {
			if tid != s.g.pid || s.leaderIsOurs() {
				continue
			}
			s.g.drop(t) // a thread that we had not seized yet has taken the number by execve(2)
		}
		err := s.seize(tid, r)
		switch {
		case err == nil:
			found = true
			s.g.add(tid, roleThread, stateRunning)
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

// seize makes this thread the tracer of another one, and keeps what r has collected meanwhile.
func (s *seizer) seize(tid int, r *reaper) error {
	r.enter()
	err := s.seizeOne(tid)
	s.g.reports.stolen = append(s.g.reports.stolen, r.leave(tid, err == nil)...)
	return err
}

func (s *seizer) seizeOne(tid int) error {
	err := ptrace.Seize(tid, s.options(s.g.mode))
	s.g.trace.about(tid, deedSeize, 0, err)
	return err
}

// leaderIsOurs reports whether whoever has the leader's number is traced by this thread.
func (s *seizer) leaderIsOurs() bool {
	if !s.g.reports.own {
		_, err := ptrace.PeekTID(s.g.pid, false)
		return err != syscall.ECHILD
	}
	st, err := procfs.ReadStatus(s.g.pid)
	return err == nil && st.TracerPID == ptrace.ThreadID()
}

// addOurs puts a thread on the books that turns out to be ours already: it was born to
// one that was seized before, whose event is still to come, perhaps after its end. Or
// it is a thread that was seized under another number while it was in execve(2), which
// has made it the leader.
func (s *seizer) addOurs(tid int) {
	if tid == s.g.pid {
		s.g.add(tid, roleThread, stateRunning)
		return
	}
	s.g.births.early[tid] = roleThread
	s.g.add(tid, roleThread, stateBorn)
}

// refusal is the meaning of an EPERM from PTRACE_SEIZE.
type refusal uint8

const (
	seizeDenied refusal = iota
	seizeOurs           // its creator was seized before it was born: already ours
	seizeDead           // a zombie: the dead leader of a living process, or a thread on its way out
	seizeAgain          // was one: a thread that execs has taken the place of the dead leader since
)

func (s *seizer) whyNot(tid int) refusal {
	st, err := procfs.ReadTaskStatus(s.g.pid, tid)
	switch {
	case err != nil || st.State == 'Z' || st.State == 'X':
		return seizeDead
	case st.TracerPID == ptrace.ThreadID(): // the kernel names the tracing thread
		return seizeOurs
	case tid == s.g.pid && st.TracerPID == 0 && s.changes < mostReplaced && ptrace.Filtered() == nil && s.permitted():
		return seizeAgain
	}
	return seizeDenied
}

// mostReplaced bounds how often the leader may have been replaced while it was seized. Each
// time takes a whole execve(2) of another thread; a security module that allows the
// memory and denies the tracing looks the same.
const mostReplaced = 16

// FilterError is the error of a ptrace(2) that a seccomp filter answers. It satisfies
// fs.ErrPermission, whatever the errno that the filter has chosen.
type FilterError struct{ Errno error }

func (e *FilterError) Error() string {
	return fmt.Sprintf("a seccomp filter refuses ptrace(2): %v", e.Errno)
}

// Is implements errors.Is.
func (e *FilterError) Is(target error) bool { return target == fs.ErrPermission }

// filtered returns the error of PTRACE_SEIZE, or a *FilterError if that is not the kernel's.
func filtered(err error) error {
	if errno := ptrace.Filtered(); errno != nil {
		return &FilterError{errno}
	}
	return err
}

// permitted reports whether we may trace the target: its memory is guarded by the
// same check (ptrace(2), Ptrace access mode checking), which it has passed also when it
// gets another memory meanwhile.
func (s *seizer) permitted() bool {
	m, err := mem.Open(s.g.pid)
	if err == syscall.ESRCH {
		st, err := procfs.ReadStat(s.g.pid)
		return err == nil && !st.Kthread()
	}
	if err != nil {
		return false
	}
	m.Close()
	return true
}

// inExec reports whether a thread is in an execve(2) that has ended the leader already.
func (s *seizer) inExec() bool {
	st, err := procfs.ReadTaskStat(s.g.pid, s.g.pid)
	if err == nil && st.State != 'Z' && st.State != 'X' && st.Flags&procfs.FlagExiting == 0 {
		return false
	}
	for tid, t := range s.g.threads {
		if t.role != roleThread || tid == s.g.pid {
			continue
		}
		task, err := procfs.OpenTask(s.g.pid, tid)
		if err != nil {
			continue
		}
		in, err := task.Syscall()
		task.Close()
		if err == nil && (in.Nr == callExecve || in.Nr == callExecveat) {
			return true
		}
	}
	return false
}

// Numbers of system calls of x86-64.
const (
	callExecve   = 59
	callExecveat = 322
)
