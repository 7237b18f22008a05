package sample

import (
	"ptools/internal/procfs"
)

// alive reports whether there is a thread with a number.
func (b *blame) alive(tid int) bool {
	t, _ := b.owner(tid)
	return t != nil || b.processOf(tid) != 0
}

// owner returns the thread that the process knows by a number, and its process.
func (b *blame) owner(tid int) (*thread, *process) {
	out := b.outside(tid)
	if t := b.p.roster.byTID[out]; t != nil {
		return t, b.p
	}
	if b.foreign {
		return nil, nil
	}
	for _, p := range b.p.sampler.processes {
		if t := p.roster.byTID[out]; t != nil && p.image != nil {
			return t, p
		}
	}
	return nil, nil
}

// processOf returns the process of a thread that is not sampled, 0 if there is none.
func (b *blame) processOf(tid int) int {
	out := b.outside(tid)
	if out <= 0 {
		return 0
	}
	st, err := procfs.ReadTaskStatus(out, out)
	if err != nil || st.State == 'Z' || st.State == 'X' {
		return 0
	}
	return st.Tgid
}

// outside returns our number of a thread that the process knows by tid. A process in another PID namespace has other
// numbers for its threads than we.
func (b *blame) outside(tid int) int {
	if !b.asked {
		b.asked = true
		st, err := procfs.ReadTaskStatus(b.p.PID, b.p.PID)
		b.foreign = err == nil && len(st.NSpid) > 1
	}
	if !b.foreign {
		return tid
	}
	if out, ok := b.inside[tid]; ok || b.inside != nil && b.gen == b.p.roster.made {
		return out
	}
	b.inside, b.gen = make(map[int]int), b.p.roster.made
	for _, t := range b.p.roster.threads {
		if st, err := procfs.ReadTaskStatus(b.p.PID, t.tid); err == nil && len(st.NSpid) > 0 {
			b.inside[st.NSpid[len(st.NSpid)-1]] = t.tid
		}
	}
	return b.inside[tid]
}
