package tracee

import (
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Another process may have shared the target's memory since before we attached: by clone(CLONE_VM)
// without CLONE_VFORK. It may be any process that /proc shows: a child, the parent, a sibling
// (CLONE_PARENT), or a process whose parent has ended. It hits our int3s as a child of vfork(2) does,
// and dies of them unless it is traced.

// ErrShared is the error of setting an int3 where another process uses the same memory and cannot be traced.
var ErrShared = errors.New("another process uses the same memory and cannot be traced")

// survey finds, while the target runs, the processes that do not use its memory. They stay strangers: a
// process starts to share memory at its birth only. So only the few processes that are born meanwhile have
// to be compared while the target is stopped.
func (s *Seizer) survey() {
	var strangers map[procfs.Listed]bool
	s.g.Waiter.Beside(func(given *atomic.Bool) { strangers = strangersTo(s.g.PID, given) })
	s.strangers = strangers
}

// strangersTo returns the processes that do not use the memory of process pid, unless it is given up.
func strangersTo(pid int, given *atomic.Bool) map[procfs.Listed]bool {
	tid, err := procfs.WithMemory(pid)
	if err != nil {
		return nil
	}
	all, _ := procfs.List(nil)
	strangers := make(map[procfs.Listed]bool, len(all))
	for _, p := range all {
		if given.Load() {
			return nil
		}
		shares, err := compareMemory(tid, p.PID)
		strangers[p] = err == nil && !shares || errors.Is(err, syscall.ESRCH) // a kernel thread, or a zombie
	}
	if now, err := procfs.WithMemory(pid); err != nil || now != tid {
		return nil // it was a dead thread's memory that was compared
	}
	return strangers
}

// seizeSharers seizes the processes that share the target's memory, whatever their parents are. The target is
// stopped meanwhile. Threads and processes that the seized ones make from then on are traced.
func (s *Seizer) seizeSharers() error {
	r := newReaper()
	defer r.close()
	known := map[int]bool{s.g.PID: true, ptrace.ProcessID(): true}
	for found := true; found && !s.g.phase.Over(); {
		found = false
		all, err := procfs.List(nil)
		if err != nil {
			return fmt.Errorf("%w: or may: %w", ErrShared, err)
		}
		for _, p := range all {
			pid := p.PID
			if known[pid] || s.strangers[p] {
				continue
			}
			shares, err := s.sharedWith(pid)
			if err == nil && shares {
				found = true
				err = s.seizeSharing(pid, r)
			}
			if err != nil {
				return err
			}
			known[pid] = true
		}
	}
	return nil
}

// sharedWith reports whether another process uses the memory of the target, which is stopped. A process that has
// ended does not. A process that is hidden from us (proc(5), hidepid) counts as a stranger, because a process that
// may be traced is not hidden.
func (s *Seizer) sharedWith(pid int) (bool, error) {
	shares, err := s.compare(pid)
	switch {
	case err == nil:
		return shares, nil
	case errors.Is(err, procfs.ErrUnknown):
	case errors.Is(err, syscall.ESRCH), errors.Is(err, fs.ErrPermission):
		return false, nil
	}
	return false, fmt.Errorf("%w: perhaps %d: %w", ErrShared, pid, err)
}

func (s *Seizer) compare(pid int) (bool, error) {
	tid, err := procfs.WithMemory(s.g.PID)
	if err != nil {
		return false, err
	}
	return compareMemory(tid, pid)
}

// compareMemory reports whether a process uses the memory of thread tid.
func compareMemory(tid, pid int) (bool, error) {
	other, err := procfs.WithMemory(pid)
	if err != nil {
		return false, err
	}
	return procfs.CompareMemory(tid, other)
}

// seizeSharing seizes and stops the threads of another process, until there is no new one.
func (s *Seizer) seizeSharing(pid int, r *reaper) error {
	for found := true; found && !s.g.phase.Over(); s.g.Stopper.Await(StuckFor) {
		found = false
		tids, err := procfs.Tasks(pid, nil)
		if err != nil {
			return nil // it has ended
		}
		for _, tid := range tids {
			if s.g.Threads[tid] != nil {
				continue
			}
			err := s.seize(pid, tid, r)
			switch {
			case err == nil:
				found = true
				s.g.Add(tid, RoleSharer, StateRunning)
			case errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) && needless(pid, tid):
			default:
				return fmt.Errorf("%w: %d: %w", ErrShared, pid, err)
			}
		}
	}
	return nil
}

// needless reports whether a thread that could not be seized need not be: it is dead, or we have traced it
// since its creation, whose event is still to come.
func needless(pid, tid int) bool {
	st, err := procfs.ReadTaskStatus(pid, tid)
	return err != nil || st.State == 'Z' || st.State == 'X' || st.TracerPID == ptrace.ThreadID()
}
