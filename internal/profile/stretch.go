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
	sum := int64(0)
	for id, ns := range p.Counted(pid) {
		if threads[id] {
			sum += ns
		}
	}
	if sum == 0 {
		return
	}
	ratio, until, given := float64(total)/float64(sum), int64(0), int64(0)
	for _, s := range p.spaces {
		if s.pid != pid {
			continue
		}
		for i := range s.cells {
			c := &s.cells[i]
			if c.CPU == 0 || !threads[c.thread] {
				continue
			}
			until += c.CPU
			share := int64(float64(until)*ratio) - given
			if until == sum {
				share = total - given
			}
			c.CPU = share
			given += share
		}
	}
}
