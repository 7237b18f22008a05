package tracee

import "ptools/internal/procfs"

// The kernel decides whether a new thread or process is traced when its creator enters the
// system call (kernel_clone). The call takes long enough for us to seize the creator, see no
// new thread, and write traps to the text meanwhile. A thread that appears later is then not traced,
// and a process has copied the traps: both would die of the first trap that they hit. So every
// thread is stopped once before the first int3 is planted. After its first stop as a tracee, every
// thread and process that it creates is attached by the kernel.

// seizeNewborn seizes the threads that have appeared since the process was attached to. It is called when
// every thread of the process is stopped, or parked.
func (s *Seizer) seizeNewborn() {
	if s.NewbornSeized {
		return
	}
	r := newReaper()
	defer r.close()
	for found := true; found && !s.g.phase.Over(); {
		tids, err := procfs.Tasks(s.g.PID, nil)
		if err != nil {
			return // its end will be reported
		}
		if found, err = s.seizePass(tids, r); err != nil {
			break // the process has another owner since
		}
		s.g.Stopper.Await(StuckFor)
	}
	for _, t := range s.g.Threads {
		if s.mayFork(t) {
			return
		}
	}
	s.NewbornSeized = true
}

// mayFork reports whether a thread that could not be stopped may be making another one.
func (s *Seizer) mayFork(t *Thread) bool {
	if t.Role != RoleThread || t.M.state == StateStopped || t.M.awaits == AwaitVfork {
		return false
	}
	st, err := procfs.ReadTaskStat(s.g.PID, t.TID)
	return err == nil && st.State != 'Z' && st.State != 'X' && !st.Ending()
}

// SeizeNewbornOnce makes sure, before an int3 is planted, that every thread which may hit it is traced. It stops
// the process for a moment, once. The error is ErrEnded or ErrShared.
func (s *Seizer) SeizeNewbornOnce() (err error) {
	if !s.NewbornSeized || !s.Alone {
		if !s.Alone {
			s.survey()
		}
		s.g.Stopper.StopAtOnce()
		if !s.NewbornSeized && !s.g.phase.Over() {
			s.seizeNewbornOfParked()
		}
		if !s.Alone && !s.g.phase.Over() {
			err = s.seizeSharers()
			s.Alone = err == nil
		}
		s.g.Stopper.ResumeAll()
	}
	if s.g.phase.Over() {
		return ErrEnded
	}
	return err
}

// seizeNewbornOfParked handles threads that sleep uninterruptibly. A thread that waits in vfork(2) has a child
// that uses its memory, and hits the traps in it. The others are given more time: they may be in a fork.
func (s *Seizer) seizeNewbornOfParked() {
	for _, t := range s.g.Threads {
		if !s.mayFork(t) || s.seizeSharer(t) {
			continue
		}
		s.g.Stopper.Expect(t)
	}
	s.g.Stopper.Await(StuckForLeaving)
	s.seizeNewborn()
	s.NewbornSeized = true
}

// seizeSharer seizes the child that a thread waits for in vfork(2), where the vfork began before we attached. It
// reports false if there is none.
func (s *Seizer) seizeSharer(t *Thread) bool {
	children, _ := procfs.Children(s.g.PID, t.TID) // without CONFIG_PROC_CHILDREN: none is known
	for _, child := range children {
		if shares, err := s.sharedWith(child); err != nil || !shares || s.g.Threads[child] != nil {
			continue // seizeSharers handles it, or refuses
		}
		if s.seizeOne(child) == nil {
			s.g.Stopper.waitsInVfork(t)
			s.g.Add(child, RoleSharer, StateRunning)
		}
	}
	return t.M.awaits == AwaitVfork
}
