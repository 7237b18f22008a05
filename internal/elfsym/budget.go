package elfsym

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"
)

// errExcess is the error of a file whose tables ask for more than its size explains.
var errExcess = errors.New("its tables ask for more work than its size explains: it has the names that were read so far")

// errCrowded is the error of a file that lacks something because of what other files hold.
var errCrowded = errors.New("files in use have all the memory for names and lines: it has those that were read so far")

// A budget bounds what one file may cost, with its debug files, whatever its tables ask for: each offset and each count may be
// right, and their sum out of all proportion. Work is the bytes that are read, decompressed and decoded, each time anew, and a
// fixed number for each access. Kept is the bytes of what is held in memory. Both are in proportion to the size of the
// file. If either is spent, nothing more is read of it; what has been read stays, and the file says so (Missing). Work is
// granted anew with time: a program that is sampled for days has its tables read again and again.
//
// What all files hold together is bounded as well, by the ledger, which may have a file let go of what it has kept.
//
// The methods of nil allow everything.
type budget struct {
	*holding
	began time.Time
	size  atomic.Uint64 // of the file and its debug files
	work  atomic.Uint64
	kept  atomic.Int64
	over  atomic.Bool
	paced atomic.Int64 // when its work was last paced, since the ledger began
}

// What a file may cost. Reading all tables of a real one costs 1 to 3 times its size.
const (
	leastWork   = 128 << 20
	workTimes   = 64
	workRate    = 16 << 20 // a second
	accessCost  = 32       // of bytes in memory
	readCost    = 256      // of bytes of a file: a system call
	inflateCost = 1        // of a byte that is decompressed
	cheapWork   = 16 << 20 // a file that has cost more lets other goroutines run
	yieldWork   = 64 << 10 // each time that it has cost so much again: 0.1 ms instead of the scheduler's 10
	leastKept   = 4 << 20
	keptTimes   = 2
	mostKept    = mostHeld
	mostSized   = 1 << 30 // a file may have any size at no cost
)

// newBudget returns the budget of a file of that size.
func newBudget(size uint64) *budget {
	b := &budget{began: time.Now(), holding: newHolding(books)}
	b.grow(size)
	return b
}

// grow adds the size of a debug file.
func (b *budget) grow(size uint64) {
	if b != nil {
		b.size.Add(min(size, mostSized))
	}
}

// spend reports whether n more bytes of work may be done.
func (b *budget) spend(n uint64) bool {
	if b == nil {
		return true
	}
	if b.over.Load() {
		return false
	}
	spent := b.work.Add(n)
	if !b.affords(0) {
		b.over.Store(true)
		return false
	}
	if spent > cheapWork && spent/yieldWork != (spent-n)/yieldWork {
		heavy.keep(b)
	}
	return true
}

// A pace bounds how much of the processors the work takes for files that have cost much, if there are several: a quarter of them. Otherwise one
// goroutine for each such file stands before those that have little to do.
type pace struct {
	last atomic.Pointer[budget] // whose work it was
	next atomic.Int64           // when the next work is due
}

var heavy pace

// keep is called now and then by who works for a file. It waits while the work for others takes too much.
func (p *pace) keep(b *budget) {
	now := time.Since(books.began).Nanoseconds()
	processors := min(runtime.NumCPU(), runtime.GOMAXPROCS(0)) // the runtime may have more of them than the machine
	cost := min(now-b.paced.Swap(now), int64(time.Millisecond)) * 4 / int64(processors)
	if p.last.Swap(b) != b {
		for {
			next := p.next.Load()
			due := max(next, now)
			if !p.next.CompareAndSwap(next, due+cost) {
				continue
			}
			if wait := time.Duration(due - now); wait > time.Millisecond {
				time.Sleep(wait)
				b.paced.Store(time.Since(books.began).Nanoseconds())
				return
			}
			break
		}
	}
	runtime.Gosched()
}

// affords reports whether n more bytes of work would be done.
func (b *budget) affords(n uint64) bool {
	if b == nil {
		return true
	}
	spent := b.work.Load() + n
	if spent <= leastWork {
		return true
	}
	granted := leastWork + workTimes*min(b.size.Load(), mostSized)
	return spent <= granted || spent <= granted+uint64(time.Since(b.began).Seconds()*workRate)
}

// keep reports whether n more bytes may be held, until the file has to let go of what it holds.
func (b *budget) keep(n uint64) bool {
	switch {
	case b == nil:
		return true
	case !b.within(n):
		b.over.Store(true)
		return false
	case !b.take(int64(n)):
		b.kept.Add(-int64(n))
		b.denied.Store(true)
		return false
	}
	return true
}

// fits is keep for what need not be held.
func (b *budget) fits(n uint64) bool {
	switch {
	case b == nil:
		return true
	case !b.within(n):
		return false
	case !b.take(int64(n)):
		b.kept.Add(-int64(n))
		return false
	}
	return true
}

// within takes n bytes of what the file may hold.
func (b *budget) within(n uint64) bool {
	most := int64(min(leastKept+keptTimes*min(b.size.Load(), mostSized), mostKept))
	if n > mostKept {
		return false
	}
	if b.kept.Add(int64(n)) > most {
		b.kept.Add(-int64(n))
		return false
	}
	return true
}

// borrow reports whether n bytes may be held whose number the size of the file explains. The caller repays them, or the file lets
// go of them.
func (b *budget) borrow(n int) bool {
	if b == nil || b.take(int64(n)) {
		return true
	}
	b.denied.Store(true)
	return false
}

// spare is borrow for what nothing lacks if it is not held.
func (b *budget) spare(n uint64) bool { return b == nil || b.take(int64(n)) }

// repay gives n borrowed bytes back.
func (b *budget) repay(n uint64) {
	if b != nil {
		b.give(int64(n))
	}
}

// touch notes that the file is used.
func (b *budget) touch() {
	if b != nil {
		b.holding.touch()
	}
}

// Crowded reports whether the file lacks something for which there was no memory. Later answers may have more.
func (b *budget) Crowded() bool { return b != nil && b.denied.Load() }

// begin begins to count anew when everything was let go.
func (b *budget) begin() {
	b.kept.Store(0)
	b.release()
}

// exceeded reports whether something was asked for beyond the budget.
func (b *budget) exceeded() bool { return b != nil && b.over.Load() }

// tables returns how many bytes the tables of units may have. The oldest make room for others.
func (b *budget) tables() int {
	if b == nil {
		return maxTables
	}
	return int(min(leastKept+b.size.Load(), maxTables))
}

// Spend reports whether n more bytes of work may be done for the file by another package, which decodes what it has read of it.
func (b *budget) Spend(n int) bool { return b.spend(uint64(n)) }

// Keep reports whether another package may hold n more bytes for the file.
func (b *budget) Keep(n int) bool { return b.keep(uint64(n)) }
