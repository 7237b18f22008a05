package guard

import (
	"sync/atomic"
	"unsafe"

	"ptools/internal/ptrace"
)

// A patch is one byte of ours in a target's text.
type patch struct {
	mem        uint32 // descriptor of the target's /proc/PID/mem
	pid        uint64 // the target, at most 32 bits
	addr       uint64
	ours, orig byte
}

// The ledger is in memory that is shared with the guard process. It is written without a system call,
// and is consistent at whatever instruction we die. Its first page has words of the pairs of threads and
// of the guard process (deathwatch_linux.go, process_linux.go). Records of three words follow: the
// address; the bytes and the descriptor, where the highest bit says that the record is good; the thread
// that writes the byte, and the target.
const (
	firstRecord = 4096 / 8 // in words
	recordWords = 3
	topWord     = firstRecord - 1 // how many records were ever used
	good        = 1 << 63
	mostRecords = 1 << 20                                     // further traps are not guarded
	ledgerSize  = (firstRecord + mostRecords*recordWords) * 8 // in bytes
	breakByte   = 0xCC                                        // an int3
)

// A ledger is the access of this program to the ledger. It has no lock.
type ledger struct {
	raw   []byte
	words []uint64 // raw as words
	free  []int    // records that are void
}

func newLedger(raw []byte) ledger {
	return ledger{raw: raw, words: unsafe.Slice((*uint64)(unsafe.Pointer(&raw[0])), len(raw)/8)}
}

// put adds a patch that the calling thread is about to write, and returns the number of its record. ok
// is false if there is no room. The guard finds the record from then on.
func (l *ledger) put(p patch) (record int, ok bool) {
	if n := len(l.free); n > 0 {
		record, l.free = l.free[n-1], l.free[:n-1]
	} else {
		record = int(l.words[topWord])
		if firstRecord+(record+1)*recordWords > len(l.words) {
			return 0, false
		}
		atomic.StoreUint64(&l.words[topWord], uint64(record)+1)
	}
	w := l.words[firstRecord+record*recordWords:]
	atomic.StoreUint64(&w[0], p.addr)
	atomic.StoreUint64(&w[2], p.pid<<32|uint64(ptrace.ThreadID()))
	atomic.StoreUint64(&w[1], good|uint64(p.ours)<<40|uint64(p.orig)<<32|uint64(p.mem))
	return record, true
}

// drop makes a record void.
func (l *ledger) drop(record int) {
	atomic.StoreUint64(&l.words[firstRecord+record*recordWords+1], 0)
	l.free = append(l.free, record)
}

// top returns how many records, good or void, the words of a ledger have.
//
//go:norace
//go:nosplit
func top(words []uint64) int {
	most := (len(words) - firstRecord) / recordWords
	if n := words[topWord]; n < uint64(most) {
		return int(n)
	}
	return most
}

// read returns what a record says; ok is false if it is void.
//
//go:norace
//go:nosplit
func read(words []uint64, record int) (p patch, ok bool) {
	i := firstRecord + record*recordWords
	rest := words[i+1]
	return patch{uint32(rest), words[i+2] >> 32, words[i], byte(rest >> 40), byte(rest >> 32)}, rest&good != 0
}

// writer returns the thread of a record, void or not.
//
//go:norace
//go:nosplit
func writer(words []uint64, record int) uint64 {
	return words[firstRecord+record*recordWords+2] & (1<<32 - 1)
}
