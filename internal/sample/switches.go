package sample

import (
	"container/list"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/source"
)

// switchCounts finds out whether a thread that a round has not read may have run.
//
// The kernel counts how often a thread is put on a processor, at the moment when that
// happens. It returns in one answer the sum for all threads of a process, ended ones
// included. That sum, less the counts that were read of the living threads, is the
// count of the ended threads, which run no more. While this difference stays the same,
// only threads that have been read since have run.
type switchCounts struct {
	sum   source.Sum // nil: it cannot be had, and all threads are read
	seen  int64      // how often the living threads were put on a processor, as last read
	ended int64      // the same of the ended threads; never more than the truth
	known bool       // ended is known

	yields uint64 // how often threads have gone to wait, when the sum was last read
}

// even reports whether the counts that were read explain the sum, and returns the sum.
// The counts must have been read before the sum. A thread that is put on a processor
// in between then makes the sum too large, never too small: at worst a thread is
// looked for in vain.
func (b *switchCounts) even() (ok bool, sum int64) {
	if b.sum == nil {
		return false, 0
	}
	all, err := b.sum.Sum()
	if err != nil {
		b.close() // it is not permitted, this kernel does not have it, or the process has ended
		return false, 0
	}
	sum, b.yields = int64(all.Slices), all.Yields
	return b.known && sum == b.seen+b.ended, sum
}

// learn sets ended when every thread has been read after sum. If threads were put on
// a processor in between, ended is too small by their number. Then the next round
// learns again.
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

// activity is what is known about which threads of a process have moved.
type activity struct {
	p        *process
	switches switchCounts
	recent   list.List // the threads; those that moved last come first
	examined []*thread // in this round
	number   int64     // of this round
	sums     budget
}

// lately is for how many rounds a thread that has moved is among the threads that
// are read first.
const lately = 8

// firstReads bounds how many threads are read first. When a sampling begins, all threads have
// just moved. If there are thousands, the first have moved again by the time that the last is
// read, and no sum is explained.
const firstReads = 256

// examineAll decides what the sample of each thread needs. Threads that have
// moved lately are read first. If no other thread has moved, that is all.
// Otherwise the others are read until the sum is explained, those that moved last
// first.
func (a *activity) examineAll() {
	a.examined = a.examined[:0]
	a.number++
	e := a.recent.Front()
	for e != nil && e.Value.(*thread).moved+lately >= a.number && len(a.examined) < firstReads {
		e = a.examineNext(e)
	}
	if a.lookOn() {
		return
	}
	begun := a.p.sampler.clock.Now()
	if !a.sums.due(begun) {
		return
	}
	a.examineOthers(e)
	share := time.Duration(100)
	if a.p.sampler.opt.Ticks == nil {
		share = 5 // a thread that runs is stopped only if it is read
	}
	a.sums.took(begun, a.p.sampler.clock.Now(), share)
}

// firstLooks bounds how many threads a round examines while not all threads of the process have been looked
// at. firstLooksAtOnce is the bound where all threads are read at once.
const (
	firstLooks       = 1024
	firstLooksAtOnce = 16384
)

// lookOn looks at threads that have not been looked at. It takes some in each round, so that ten thousand of them
// do not delay a round. It reports whether there were any.
func (a *activity) lookOn() bool {
	before := len(a.examined)
	most := firstLooks - before
	if a.p.crowd.reads() {
		most = firstLooksAtOnce
	}
	var batch []*thread
	n := 0
	for ; n < len(a.p.roster.unlooked) && len(batch) < most; n++ {
		if t := a.p.roster.unlooked[n]; !t.looked && a.p.roster.byTID[t.tid] == t {
			batch = append(batch, t)
		}
	}
	a.p.roster.unlooked = a.p.roster.unlooked[:copy(a.p.roster.unlooked, a.p.roster.unlooked[n:])]
	for _, t := range a.p.crowd.look(batch) {
		a.p.examine(t)
	}
	if len(a.examined) == before {
		return false
	}
	a.switches.known = false
	return true
}

// examineOthers reads the threads that have not moved lately, from e on, until the sum is explained.
func (a *activity) examineOthers(e *list.Element) {
	even, sum := a.switches.even()
	for n := a.tries(); !even && n > 0; n-- {
		a.reread()
		even, sum = a.switches.even()
	}
	if even {
		return
	}
	a.reread()
	a.p.crowd.read(len(a.p.roster.threads) - len(a.examined))
	defer a.p.crowd.forget()
	later, looked := int64(0), false
	for e != nil {
		e = a.examineNext(e)
		if a.switches.known && !looked && a.switches.seen+a.switches.ended == sum {
			looked = true // once: there is no need to wait for threads that move all the time
			later = a.reread()
			if even, _ := a.switches.even(); even {
				return
			}
		}
	}
	a.switches.learn(sum, a.switches.seen-later)
	a.switches.known = a.switches.known && !a.p.roster.stale
}

// tries returns how often the threads that have moved lately are read again before all others are
// read. They may have moved again while the kernel made the sum. With more threads the sum takes
// longer, and so does reading all others.
func (a *activity) tries() int { return min(1+(len(a.p.roster.threads)-len(a.examined))/250, 8) }

// examineNext examines one thread and returns the next in the order of movement.
func (a *activity) examineNext(e *list.Element) *list.Element {
	next := e.Next()
	a.p.examine(e.Value.(*thread))
	return next
}

// reread reads the examined threads once more, and returns how often they were put on
// a processor since. Threads that were are examined in the next round.
func (a *activity) reread() int64 {
	if a.switches.sum == nil {
		return 0
	}
	before := a.switches.seen
	for _, t := range a.examined {
		if sched, err := t.files.SchedStat(); err == nil && sched != t.usage.now {
			a.saw(t, sched)
			a.stir(t)
		}
	}
	return a.switches.seen - before
}

// saw records how long a thread has run.
func (a *activity) saw(t *thread, sched procfs.SchedStat) {
	a.switches.seen += int64(sched.Slices - t.usage.now.Slices)
	if sched.Run > t.usage.now.Run && !t.usage.rebase {
		t.usage.used += sched.Run - t.usage.now.Run
		t.usage.ran += int64(sched.Run - t.usage.now.Run)
	}
	if sched.Wait > t.usage.now.Wait && !t.usage.rebase {
		t.usage.ready += int64(sched.Wait - t.usage.now.Wait)
	}
	t.usage.switched = t.usage.switched || sched.Slices != t.usage.now.Slices
	t.usage.rebase = false
	t.usage.now = sched
}

// stir puts a thread at the front of the list of threads.
func (a *activity) stir(t *thread) {
	t.moved = a.number
	a.recent.MoveToFront(t.place)
}

// rest puts a thread at the end of the list, where it is not read first.
func (a *activity) rest(t *thread) {
	t.moved = a.number - lately - 1
	a.recent.MoveToBack(t.place)
}
