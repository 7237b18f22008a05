package control

import (
	"errors"
	"fmt"
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// The target's memory may be that of another process too, since before we came: of a child that was
// made by clone(CLONE_VM) without CLONE_VFORK, or of the process whose child the target is. Such a
// process meets our int3s as a child of vfork(2) does, and dies of them unless it is traced.

// ErrShared is the error of an int3 in memory that is another process's too, which cannot be traced.
var ErrShared = errors.New("another process uses the same memory and cannot be traced")

// seizeSharers seizes, while the target stands, the processes that share its memory and are its
// relatives: parent, children, and theirs. What these make from then on is traced.
func (c *Controller) seizeSharers() error {
	r := newReaper()
	defer r.close()
	known := map[int]bool{c.pid: true, ptrace.ProcessID(): true, 0: true}
	for all := []int{c.pid}; len(all) > 0 && !c.over; all = all[1:] {
		for _, pid := range relatives(all[0]) {
			if known[pid] {
				continue
			}
			known[pid] = true
			if shares, err := procfs.SharesMemory(c.pid, pid); err != nil || !shares {
				continue // gone, or another user's, whom we may not ask
			}
			if err := c.seizeSharing(pid, r); err != nil {
				return err
			}
			all = append(all, pid)
		}
	}
	return nil
}

// relatives returns the parent and the children of a process that there are, in no order.
func relatives(pid int) []int {
	var all []int
	if st, err := procfs.ReadStat(pid); err == nil {
		all = append(all, st.PPID)
	}
	tids, _ := procfs.Tasks(pid, nil)
	for _, tid := range tids {
		children, _ := procfs.Children(pid, tid) // without CONFIG_PROC_CHILDREN: none is known
		all = append(all, children...)
	}
	return all
}

// seizeSharing seizes and stops the threads of another process, until there is nobody new.
func (c *Controller) seizeSharing(pid int, r *reaper) error {
	for found := true; found && !c.over; c.await(stuckFor) {
		found = false
		tids, err := procfs.Tasks(pid, nil)
		if err != nil {
			return nil // it has ended
		}
		for _, tid := range tids {
			if c.threads[tid] != nil {
				continue
			}
			err := c.seize(tid, r)
			switch {
			case err == nil:
				found = true
				c.add(tid, roleSharer, stateRunning)
			case errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) && needless(pid, tid):
			default:
				return fmt.Errorf("%w: %d: %w", ErrShared, pid, err)
			}
		}
	}
	return nil
}

// needless reports whether a thread that was not seized needs not be: it is dead, or it is traced by us
// since its creation, which is still to be reported.
func needless(pid, tid int) bool {
	st, err := procfs.ReadTaskStatus(pid, tid)
	return err != nil || st.State == 'Z' || st.State == 'X' || st.TracerPID == ptrace.ThreadID()
}
