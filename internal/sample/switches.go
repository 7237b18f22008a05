package sample

import (
	"container/list"
	"time"

	"ptools/internal/procfs"
)

// switchCounts tells whether a thread may have run that a round has not read.
//
// The kernel counts how often a thread is put on a processor, at the moment when it
// is, and says at once how often that was for all threads of a process together,
// those that have ended included. Less what the living were seen to have, those that
// have ended are left, and they run no more. While that remains the same nobody has
// run but those who have been read since.
type switchCounts struct {
	sum   Sum   // nil: nobody says, and all are read
	seen  int64 // how often the living threads were, as last read
	ended int64 // how often those were that have ended; never more than the truth
	known bool  // ended is known

	yields uint64 // how often threads have gone to wait, when the sum was last asked for
}

// even reports whether what was seen explains the sum, which it returns. What was seen
// must have been read before: a thread that is put on a processor between the two then
// counts too much, and is looked for in vain, and never too little.
func (b *switchCounts) even() (ok bool, sum int64) {
	if b.sum == nil {
		return false, 0
	}
	all, err := b.sum.Sum()
	if err != nil {
		b.close() // not permitted, not in this kernel, or the process has ended
		return false, 0
	}
	sum, b.yields = int64(all.Slices), all.Yields
	return b.known && sum == b.seen+b.ended, sum
}

// learn sets ended when every thread has been read after sum. It is too little by
// what threads were put on a processor in between; then the next round learns again.
func (b *switchCounts) learn(sum, seen int64) {
	ended := sum - seen
	if b.known {
		ended = max(ended, b.ended)
	}
	b.ended, b.known = ended, b.sum != nil
}

func (b *switchCounts) close() {
	if b.sum != nil {
		b.sum.Close()
		b.sum, b.known = nil, false
	}
}

// lately is for how many rounds a thread that has moved is read before it is known
// whether anybody else has.
const lately = 8

// firstReads bounds how many of them that are: of thousands, which have all moved when a sampling
// begins, the first have again by the time that the last is read, and no sum is explained.
const firstReads = 256

// examineAll decides what the sample of each thread needs. Those that have moved
// lately are read first. If nobody else has moved that was all. Otherwise the others
// are read until the sum is explained, those who moved last first.
func (p *process) examineAll() {
	p.examined = p.examined[:0]
	p.number++
	e := p.recent.Front()
	for e != nil && e.Value.(*thread).moved+lately >= p.number && len(p.examined) < firstReads {
		e = p.examineNext(e)
	}
	if p.lookOn() {
		return
	}
	begun := p.sampler.clock.Now()
	if !p.sums.due(begun) {
		return
	}
	p.examineOthers(e)
	share := time.Duration(100)
	if p.sampler.opt.Ticks == nil {
		share = 5 // who runs is stopped only if it is read
	}
	p.sums.took(begun, p.sampler.clock.Now(), share)
}

// firstLooks bounds how many threads a round examines of a process whose threads have not all been looked at.
// firstLooksAtOnce is that of threads that are read all at once.
const (
	firstLooks       = 1024
	firstLooksAtOnce = 16384
)

// lookOn looks at threads that have not been looked at: at some in each round, so that ten thousand of them do not
// keep a round from its time. It reports whether there were any.
func (p *process) lookOn() bool {
	before := len(p.examined)
	most := firstLooks - before
	if p.crowd.reads() {
		most = firstLooksAtOnce
	}
	var batch []*thread
	n := 0
	for ; n < len(p.unlooked) && len(batch) < most; n++ {
		if t := p.unlooked[n]; !t.looked && p.byTID[t.tid] == t {
			batch = append(batch, t)
		}
	}
	p.unlooked = p.unlooked[:copy(p.unlooked, p.unlooked[n:])]
	for _, t := range p.crowd.look(batch) {
		p.examine(t)
	}
	if len(p.examined) == before {
		return false
	}
	p.switches.known = false
	return true
}

// examineOthers reads the threads that have not moved lately, from e on, as far as the sum asks for it.
func (p *process) examineOthers(e *list.Element) {
	even, sum := p.switches.even()
	for n := p.tries(); !even && n > 0; n-- {
		p.reread()
		even, sum = p.switches.even()
	}
	if even {
		return
	}
	p.reread()
	p.crowd.read(len(p.threads) - len(p.examined))
	defer p.crowd.forget()
	later, looked := int64(0), false
	for e != nil {
		e = p.examineNext(e)
		if p.switches.known && !looked && p.switches.seen+p.switches.ended == sum {
			looked = true // once: whoever moves all the time need not be waited for
			later = p.reread()
			if even, _ := p.switches.even(); even {
				return
			}
		}
	}
	p.switches.learn(sum, p.switches.seen-later)
	p.switches.known = p.switches.known && !p.stale
}

// tries is how often the threads that have moved lately are read once more, because they may have
// done so again while the sum was made, before all others are: the more there are, the longer the
// sum takes, and the longer they do.
func (p *process) tries() int { return min(1+(len(p.threads)-len(p.examined))/250, 8) }

// examineNext examines one thread and returns the next in the order of movement.
func (p *process) examineNext(e *list.Element) *list.Element {
	next := e.Next()
	p.examine(e.Value.(*thread))
	return next
}

// reread reads the threads that have been examined once more and returns how often
// they were put on a processor since. Those who were are examined in the next round.
func (p *process) reread() int64 {
	if p.switches.sum == nil {
		return 0
	}
	before := p.switches.seen
	for _, t := range p.examined {
		if sched, err := t.files.SchedStat(); err == nil && sched != t.now {
			p.saw(t, sched)
			p.stir(t)
		}
	}
	return p.switches.seen - before
}

// saw takes note of what a thread has run.
func (p *process) saw(t *thread, sched procfs.SchedStat) {
	p.switches.seen += int64(sched.Slices - t.now.Slices)
	if sched.Run > t.now.Run && !t.rebase {
		t.used += sched.Run - t.now.Run
	}
	t.rebase = false
	t.now = sched
}

// stir puts a thread in front of those that are read first.
func (p *process) stir(t *thread) {
	t.moved = p.number
	p.recent.MoveToFront(t.place)
}

// rest puts a thread behind those that are read first.
func (p *process) rest(t *thread) {
	t.moved = p.number - lately - 1
	p.recent.MoveToBack(t.place)
}
