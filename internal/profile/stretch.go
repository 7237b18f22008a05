package profile

// Counted returns the processor time that is counted so far for the threads of a process.
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

// Stretch changes the counted processor time of some threads of a process to total, and keeps the
// proportions. It does nothing if they have counted none.
func (p *Profile) Stretch(pid int, threads map[ThreadID]bool, total int64) {
	p.apportion([]int64{total}, func(s *Space, id ThreadID) int {
		if s.pid == pid && threads[id] {
			return 0
		}
		return -1
	})
}
