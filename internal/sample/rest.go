package sample

import "time"

// balance is the processor time of a process that its living threads do not
// explain: that of the dead. The numbers are the scheduler's own, to the nanosecond.
// While it stays what it was when every thread had been read, no thread has run but
// those that are read now.
type balance struct {
	known bool
	ns    int64
}

// left returns what of total the threads' last readings do not explain.
func (p *process) left(total time.Duration) int64 {
	ns := int64(total)
	for _, t := range p.threads {
		ns -= int64(t.now.Run)
	}
	return ns
}

// examineAll decides what the sample of each thread needs. total, if known, is the
// processor time of the process before. The threads that moved in the last round are
// read first. Had any of the others run since, it would show in the balance, or it
// would be running now; if neither, they need not be read. A thread that was
// accounted for between the reading of total and its own spoils the balance, and
// costs a full round.
func (p *process) examineAll(total time.Duration, known bool) {
	// Backwards, since lose takes threads out.
	for i := len(p.threads) - 1; i >= 0; i-- {
		if t := p.threads[i]; t.know == still {
			t.verdict = unread
		} else {
			p.examine(t)
		}
	}
	if known && p.balance.known && p.sampler.census.complete() && p.left(total) == p.balance.ns {
		for _, t := range p.threads {
			if t.verdict == unread {
				t.verdict, t.visited = keep, 0
			}
		}
		return
	}
	for i := len(p.threads) - 1; i >= 0; i-- {
		if t := p.threads[i]; t.verdict == unread {
			p.examine(t)
		}
	}
	p.balance = balance{known && !p.stale, p.left(total)}
}

// moving returns how many threads a round has to read in any case.
func (p *process) moving() int {
	n := 0
	for _, t := range p.threads {
		if t.know != still {
			n++
		}
	}
	return n
}
