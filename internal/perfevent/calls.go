package perfevent

import (
	"math/bits"
	"time"
)

// CallBuckets is how many classes of durations [CallStats] has.
const CallBuckets = 192

// MostFunctions is how many functions one [Calls] may have.
const MostFunctions = 1 << 18

// A Scope is whose calls are counted.
type Scope uint8

const (
	Alone    Scope = iota // those of the process until it executes another program
	Children              // also those of its children and theirs, until each executes another program
	Programs              // also those of the programs that they execute, as far as they are in the same files
)

// CallStats are the calls of one function.
type CallStats struct {
	Calls    uint64 // that have begun
	Returned uint64 // of those, that have ended
	Tails    uint64 // of those, that have ended by a jump to another function
	Left     uint64 // that will not end: another call has begun in their place on the stack
	Unseen   uint64 // that were to be reported and were not, because those before were not read in time
	Untimed  uint64 // that had no room in the kernel's table: their ends are not seen
	Sum, Max time.Duration
	Buckets  [CallBuckets]uint64 // ends by duration: see BucketStart
	Amount   CallSum
}

// BucketStart returns the least duration of class i. There is one class for each of 0 to 3 ns. From there on each power of two
// is divided into four classes of the same width. The last class has no upper end.
func BucketStart(i int) time.Duration {
	if i < 4 {
		return time.Duration(i)
	}
	return time.Duration(4+i%4) << (i/4 - 1)
}

// BucketOf returns the class of a duration.
func BucketOf(d time.Duration) int {
	if d < 4 {
		return int(max(d, 0))
	}
	shift := bits.Len64(uint64(d)) - 3
	return min(4*(shift+1)+int(d>>shift)&3, CallBuckets-1)
}

// A CallPlace is an instruction where a function begins or ends.
type CallPlace struct {
	Off       uint64 // in the file
	Addr      uint64 // where the process has it mapped
	Function  int
	Slot      int32      // address of the return address minus the stack pointer
	Goroutine bool       // it runs on the stack of a goroutine, which is in r14
	Ends      CallEnd    // how the function ends there
	Stepped   bool       // the kernel single-steps the instruction
	Mode      CallMode   // of an entry
	Cond      uint8      // condition of the jump, as in its opcode; NoCond
	Condition *Condition // of an entry: which calls are counted; nil: all
	// Key and Amount are those of the function, at its entry and its ends alike.
	Key    *CallKey    // what calls are told apart by; nil: nothing
	Amount *Expression // what is summed; nil: nothing
}

// A CallEnd is how a function ends at a place. At an entry it says that the call ends where it begins.
type CallEnd uint8

const (
	NoEnd    CallEnd = iota // of an entry; an end returns
	ByJump                  // to another function
	ByReturn                // of an entry
)

// A CallMode says what the probe of an entry does with a call.
type CallMode uint8

const (
	CallTimed   CallMode = iota // counts it, and notes it until it ends
	CallCounted                 // only counts it
	CallAtOnce                  // counts it, and reports it when it begins
)

// A CallHits says how often threads came to the probes of a function, at its entry and its ends, counted or not.
type CallHits struct{ Emulated, Stepped uint64 }

// Since returns the hits that came since there were those of before.
func (h CallHits) Since(before CallHits) CallHits {
	return CallHits{h.Emulated - before.Emulated, h.Stepped - before.Stepped}
}

// A CallCost is what the hit of a probe takes of the target's processor time.
type CallCost struct{ Emulated, Stepped time.Duration }

// Of returns the processor time that hits took.
func (c CallCost) Of(h CallHits) time.Duration {
	return time.Duration(h.Emulated)*c.Emulated + time.Duration(h.Stepped)*c.Stepped
}

// NoCond is the condition of what has none.
const NoCond = 16

// Bits of a cookie above the number of the function.
const (
	callCounted    = 18
	callReturns    = 19
	callCond       = 20 // five bits
	callTail       = 25
	callGoroutine  = 26
	callAtOnce     = 27
	callStepped    = 28
	callGeneration = 29 // three bits
	callSlot       = 32
)

// cookie is what the programs know of the place.
func (p *CallPlace) cookie() uint64 {
	c := uint64(p.Function)&(MostFunctions-1) | uint64(p.Cond)<<callCond | uint64(uint32(p.Slot))<<callSlot
	switch p.Ends {
	case ByReturn:
		c |= 1<<callTail | 1<<callReturns
	case ByJump:
		c |= 1 << callTail
	}
	if p.Goroutine {
		c |= 1 << callGoroutine
	}
	if p.Stepped {
		c |= 1 << callStepped
	}
	switch p.Mode {
	case CallAtOnce:
		c |= 1 << callAtOnce
	case CallCounted:
		c |= 1 << callCounted
	}
	return c
}
