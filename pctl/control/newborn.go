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
func (s *seizer) seizeNewborn() {
	if s.newbornSeized {
		return
	}
	r := newReaper()
	defer r.close()
	for found := true; found && !s.g.phase.over(); {
		tids, err := procfs.Tasks(s.g.pid, nil)
		if err != nil {
			return // its end will be reported
		}
		if found, err = s.seizePass(tids, r); err != nil {
			break // of another owner since
		}
		s.g.await(stuckFor)
	}
	for _, t := range s.g.threads {
		if s.mayFork(t) {
			return
		}
	}
	s.newbornSeized = true
}

// mayFork reports whether a thread that could not be stopped may be making another one.
func (s *seizer) mayFork(t *thread) bool {
	if t.role != roleThread || t.m.state == stateStopped || t.m.awaits == awaitVfork {
		return false
	}
	st, err := procfs.ReadTaskStat(s.g.pid, t.tid)
	return err == nil && st.State != 'Z' && st.State != 'X'
}

// seizeNewbornOnce makes sure, before an int3 is planted, that whoever meets it is traced: it stops
// the process for a moment, once. The error is ErrEnded, or ErrShared.
func (s *seizer) seizeNewbornOnce() (err error) {
	if !s.newbornSeized || !s.alone {
		if !s.alone {
			s.survey()
		}
		s.g.stopAtOnce()
		if !s.newbornSeized && !s.g.phase.over() {
			s.seizeNewbornOfParked()
		}
		if !s.alone && !s.g.phase.over() {
			err = s.seizeSharers()
			s.alone = err == nil
		}
		s.g.resumeAll()
	}
	if s.g.phase.over() {
		return ErrEnded
	}
	return err
}

// seizeNewbornOfParked is for threads that sleep uninterruptibly. One that waits in vfork(2) has a child
// that uses its memory, and meets the traps in it. The others are given more time: they may be
// on their way through a fork.
func (s *seizer) seizeNewbornOfParked() {
	for _, t := range s.g.threads {
		if !s.mayFork(t) || s.seizeSharer(t) {
			continue
		}
		s.g.expect(t)
	}
	s.g.await(stuckForLeaving)
	s.seizeNewborn()
	s.newbornSeized = true
}

// seizeSharer takes over the child that a thread waits for in vfork(2) since before we came. It
// reports false if there is none.
func (s *seizer) seizeSharer(t *thread) bool {
	children, _ := procfs.Children(s.g.pid, t.tid) // without CONFIG_PROC_CHILDREN: none is known
	for _, child := range children {
		if shares, err := s.sharedWith(child); err != nil || !shares || s.g.threads[child] != nil {
			continue // seizeSharers comes to it, or refuses
		}
		if s.seizeOne(child) == nil {
			s.g.waitsInVfork(t)
			s.g.add(child, roleSharer, stateRunning)
		}
	}
	return t.m.awaits == awaitVfork
}
