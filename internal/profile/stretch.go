package profile

// Counted returns the processor time that the threads of a process have counted so far.
func (p *Profile) Counted(pid int) map[ThreadID]int64 {
	counted := make(map[ThreadID]int64)
	for _, s := range p.spaces {
		if s.pid != pid {
			continue
		}
		for i := range s.cells {
			if c := &s.cells[i]; c.CPU != 0 {
				counted[c.thread] += c.CPU
			}
		}
	}
	return counted
}

// Stretch makes the processor time that some threads of a process have counted in all what total is,
// without changing the proportions. It does nothing where they have counted none.
func (p *Profile) Stretch(pid int, threads map[ThreadID]bool, total int64) {
	p.apportion([]int64{total}, func(s *Space, id ThreadID) int {
		if s.pid == pid && threads[id] {
			return 0
		}
		return -1
	})
}
