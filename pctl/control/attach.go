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
	"ptools/pctl/notify"
)

// seizeOptions are armed with every thread; new threads and children inherit them.
const seizeOptions = ptrace.OptClone | ptrace.OptFork | ptrace.OptVfork | ptrace.OptVforkDone | ptrace.OptExec

func (c *Controller) options(m Mode) ptrace.Options {
	if m == ModeKill {
		return seizeOptions | ptrace.OptExitKill
	}
	return seizeOptions
}

// Attach takes control of a running process: every thread is seized, none is
// stopped unless a rendezvous at notify.Grab is asked for, in which case the
// process stands still when Attach returns. The error is the kernel's. ctx bounds the
// waiting for a process in the middle of an exec, except inside PTRACE_SEIZE itself, and
// nothing after Attach has returned.
func Attach(ctx context.Context, pid int, o *Options) (*Controller, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return newController(pid, o, func(c *Controller) error {
		if err := c.openBell(); err != nil {
			return err
		}
		if err := c.seizeAll(ctx); err != nil {
			return err
		}
		if err := c.firstImage(ctx); err != nil {
			return err
		}
		if err := c.demandProbes(); err != nil {
			return err
		}
		c.publish(notify.Event{Kind: notify.Grabbed, Threads: c.count()})
		c.reach(notify.Grab)
		if c.over {
			return ErrEnded
		}
		return nil
	})
}

// firstImage takes notice of the address space of a process whose threads are
// seized, unless an exec of one of them has done so already: from now on every exec
// is reported.
func (c *Controller) firstImage(ctx context.Context) error {
	if c.imageNew {
		return nil
	}
	err := c.openMemory()
	if err == nil {
		err = c.followImage()
	}
	if errors.Is(err, syscall.ESRCH) {
		// It is in the middle of an exec, or of its end; either will be reported.
		if !c.until(func() bool { return c.imageNew || ctx.Err() != nil }, func() {}) {
			return ErrEnded
		}
		if c.imageNew {
			return nil
		}
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("address space: %w", err)
	}
	return nil
}

func (c *Controller) openBell() (err error) {
	if c.bell, err = ptrace.NewBell(); err == nil {
		c.alarm.init(c.bell, ringAgain)
		c.latency.init(c.bell, c.opt.KeepAwake)
	}
	return err
}

// count returns the number of threads of the target.
func (c *Controller) count() int {
	n := 0
	for _, t := range c.threads {
		if t.role == roleThread {
			n++
		}
	}
	return n
}

// seizeAll seizes every thread of the process. A seized thread's clones attach
// themselves; those of the others are found by reading the task directory until two
// passes in a row have found nobody new. A refusal by a seccomp filter is a *FilterError.
func (c *Controller) seizeAll(ctx context.Context) error {
	if st, err := procfs.ReadStat(c.pid); err == nil {
		c.own, c.start = st.PPID == ptrace.ProcessID(), st.StartTime
	}
	r := newReaper()
	defer r.close()
	var tids []int
	for quiet := 0; quiet < 2; {
		var err error
		if tids, err = procfs.Tasks(c.pid, tids[:0]); err != nil {
			if len(c.threads) == 0 {
				return syscall.ESRCH
			}
			return nil // its end will be reported
		}
		found, err := c.seizePass(tids, r)
		if err != nil {
			return filtered(err)
		}
		quiet++
		if found {
			quiet = 0
		}
		c.drain()
		if c.over {
			return ErrEnded
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if c.count() == 0 {
		return syscall.ESRCH
	}
	return nil
}

// seizePass seizes those of tids that are new.
func (c *Controller) seizePass(tids []int, r *reaper) (found bool, err error) {
	for _, tid := range tids {
		if t := c.threads[tid]; t != nil {
			if tid != c.pid || c.leaderIsOurs() {
				continue
			}
			c.drop(t) // a thread that we had not seized yet has taken the number by execve(2)
		}
		err := c.seize(tid, r)
		switch {
		case err == nil:
			found = true
			c.add(tid, roleThread, stateRunning)
		case errors.Is(err, syscall.ESRCH):
			// Gone since the directory was read.
		case errors.Is(err, syscall.EPERM):
			switch c.whyNot(tid) {
			case seizeOurs:
				found = true
				c.addOurs(tid)
			case seizeDead:
			case seizeAgain:
				c.changes++
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
func (c *Controller) seize(tid int, r *reaper) error {
	r.enter()
	err := c.seizeOne(tid)
	c.stolen = append(c.stolen, r.leave(tid, err == nil)...)
	return err
}

func (c *Controller) seizeOne(tid int) error {
	err := ptrace.Seize(tid, c.options(c.opt.Mode))
	c.trace.about(tid, deedSeize, 0, err)
	return err
}

// leaderIsOurs reports whether whoever has the leader's number is traced by this thread.
func (c *Controller) leaderIsOurs() bool {
	if !c.own {
		_, err := ptrace.PeekTID(c.pid, false)
		return err != syscall.ECHILD
	}
	st, err := procfs.ReadStatus(c.pid)
	return err == nil && st.TracerPID == ptrace.ThreadID()
}

// addOurs puts a thread on the books that turns out to be ours already: it was born to
// one that was seized before, whose event is still to come, perhaps after its end. Or
// it is a thread that was seized under another number while it was in execve(2), which
// has made it the leader.
func (c *Controller) addOurs(tid int) {
	if tid == c.pid {
		c.add(tid, roleThread, stateRunning)
		return
	}
	c.early[tid] = roleThread
	c.add(tid, roleThread, stateBorn).fresh = true
}

// refusal is the meaning of an EPERM from PTRACE_SEIZE.
type refusal uint8

const (
	seizeDenied refusal = iota
	seizeOurs           // its creator was seized before it was born: already ours
	seizeDead           // a zombie: the dead leader of a living process, or a thread on its way out
	seizeAgain          // was one: a thread that execs has taken the place of the dead leader since
)

func (c *Controller) whyNot(tid int) refusal {
	st, err := procfs.ReadTaskStatus(c.pid, tid)
	switch {
	case err != nil || st.State == 'Z' || st.State == 'X':
		return seizeDead
	case st.TracerPID == ptrace.ThreadID(): // the kernel names the tracing thread
		return seizeOurs
	case tid == c.pid && st.TracerPID == 0 && c.changes < mostReplaced && ptrace.Filtered() == nil && c.permitted():
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
func (c *Controller) permitted() bool {
	m, err := mem.Open(c.pid)
	if err == syscall.ESRCH {
		st, err := procfs.ReadStat(c.pid)
		return err == nil && !st.Kthread()
	}
	if err != nil {
		return false
	}
	m.Close()
	return true
}

// drain handles the reports that are there.
func (c *Controller) drain() {
	for !c.over {
		s, err := c.pollNow()
		if err != nil || s.Kind == ptrace.KindNone {
			return
		}
		c.report(s, nil)
	}
}

// pollNow returns a report that is there.
func (c *Controller) pollNow() (ptrace.Stop, error) {
	if n := len(c.stolen); n > 0 {
		s := c.stolen[0]
		c.stolen = c.stolen[1:]
		return s, nil
	}
	return c.wait(false)
}
