package locks

import (
	"ptools/internal/procfs"
)

// alive reports whether there is a thread with a number.
func (l *Table) alive(tid int) bool { return l.owner(tid) != nil || l.numbers.process(tid) != 0 }

// owner returns the sampled thread that the process knows by a number, or nil.
func (l *Table) owner(tid int) Thread {
	out := l.numbers.outside(tid)
	if t := l.p.Thread(out); t != nil || l.numbers.foreign {
		return t
	}
	return l.p.Other(out)
}

// numbers are those of threads. A process in another PID namespace has other numbers for its threads than we.
type numbers struct {
	pid     int
	p       Process
	inside  map[int]int // threads by their numbers in the process's own PID namespace
	foreign bool        // the process is in another PID namespace
	asked   bool        // foreign is known
	gen     uint64      // of the threads, when inside was made
}

// process returns the process of a thread, 0 if there is none.
func (n *numbers) process(tid int) int {
	out := n.outside(tid)
	if out <= 0 {
		return 0
	}
	st, err := procfs.ReadTaskStatus(out, out)
	if err != nil || st.State == 'Z' || st.State == 'X' {
		return 0
	}
	return st.Tgid
}

// outside returns our number of a thread that the process knows by tid.
func (n *numbers) outside(tid int) int {
	if !n.asked {
		n.asked = true
		st, err := procfs.ReadTaskStatus(n.pid, n.pid)
		n.foreign = err == nil && len(st.NSpid) > 1
	}
	if !n.foreign {
		return tid
	}
	if out, ok := n.inside[tid]; ok {
		return out
	}
	tids, gen := n.p.Threads()
	if n.inside != nil && n.gen == gen {
		return 0
	}
	n.inside, n.gen = make(map[int]int), gen
	for _, t := range tids {
		if st, err := procfs.ReadTaskStatus(n.pid, t); err == nil && len(st.NSpid) > 0 {
			n.inside[st.NSpid[len(st.NSpid)-1]] = t
		}
	}
	return n.inside[tid]
}
