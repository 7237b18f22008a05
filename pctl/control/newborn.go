package control

import "ptools/internal/procfs"

// Whether a new thread or process is traced the kernel decides when its creator enters the
// system call (kernel_clone), which takes long enough for us to seize the creator, see nobody
// new and write traps to the text meanwhile. A thread that appears later is then nobody's, and
// a process has copied the traps: both would die of the first one that they meet. So before the
// first int3 is planted everybody is stopped once. Who has stopped since he was seized makes
// nobody any more without our knowledge.

// seizeNewborn is called when every thread of a process that was attached to stands, or is parked. It
// seizes those that have appeared since.
func (c *Controller) seizeNewborn() {
	if c.newbornSeized {
		return
	}
	r := newReaper()
	defer r.close()
	for found := true; found && !c.over; {
		tids, err := procfs.Tasks(c.pid, nil)
		if err != nil {
			return // its end will be reported
		}
		if found, err = c.seizePass(tids, r); err != nil {
			break // of another owner since
		}
		c.await(stuckFor)
	}
	for _, t := range c.threads {
		if c.mayFork(t) {
			return
		}
	}
	c.newbornSeized = true
}

// mayFork reports whether a thread that could not be stopped may be making another one.
func (c *Controller) mayFork(t *thread) bool {
	if t.role != roleThread || t.m.state == stateStopped || t.vfork {
		return false
	}
	st, err := procfs.ReadTaskStat(c.pid, t.tid)
	return err == nil && st.State != 'Z' && st.State != 'X'
}

// seizeNewbornOnce makes sure, before an int3 is planted, that whoever meets it is traced: it stops
// the process for a moment, once. The error is ErrEnded, or ErrShared.
func (c *Controller) seizeNewbornOnce() (err error) {
	if !c.newbornSeized || !c.alone {
		if !c.alone {
			c.survey()
		}
		c.stopAtOnce()
		if !c.newbornSeized && !c.over {
			c.seizeNewbornOfParked()
		}
		if !c.alone && !c.over {
			err = c.seizeSharers()
			c.alone = err == nil
		}
		c.resumeAll()
	}
	if c.over {
		return ErrEnded
	}
	return err
}

// seizeNewbornOfParked is for threads that sleep uninterruptibly. One that waits in vfork(2) has a child
// that uses its memory, and meets the traps in it. The others are given more time: they may be
// on their way through a fork.
func (c *Controller) seizeNewbornOfParked() {
	for _, t := range c.threads {
		if !c.mayFork(t) || c.seizeSharer(t) {
			continue
		}
		if !t.awaited {
			t.awaited = true
			c.awaited++
		}
	}
	c.await(stuckForLeaving)
	c.seizeNewborn()
	c.newbornSeized = true
}

// seizeSharer takes over the child that a thread waits for in vfork(2) since before we came. It
// reports false if there is none.
func (c *Controller) seizeSharer(t *thread) bool {
	children, _ := procfs.Children(c.pid, t.tid) // without CONFIG_PROC_CHILDREN: none is known
	for _, child := range children {
		if shares, err := c.sharedWith(child); err != nil || !shares || c.threads[child] != nil {
			continue // seizeSharers comes to it, or refuses
		}
		if c.seizeOne(child) == nil {
			t.vfork = true
			c.add(child, roleSharer, stateRunning)
		}
	}
	return t.vfork
}
