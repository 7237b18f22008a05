// Package futex finds out what a thread in futex(2) waits for. It uses the call's arguments, the words of memory
// around the call's address, and the function that makes the call. It is pure: it reads no process.
//
// The layouts are those of x86-64: glibc's struct __pthread_mutex_s and struct __pthread_rwlock_arch_t, and musl's
// pthread_mutex_t. None of them has changed since the libraries have had them.
package futex

import (
	"encoding/binary"
	"strings"
)

// Name is the name of the system call futex(2).
const Name = "futex"

// A Call is a futex(2) call that waits.
type Call struct {
	Addr    uint64
	Value   uint32
	op      uint32
	private bool
}

// Operations that wait, and the flags beside them (linux/futex.h).
const (
	opWait         = 0
	opLockPI       = 6
	opWaitBitset   = 9
	opWaitRequeue  = 11
	opLockPI2      = 13
	flagPrivate    = 0x80
	flagClock      = 0x100
	ownerMask      = 0x3fffffff // FUTEX_TID_MASK
	waiters        = 0x80000000 // FUTEX_WAITERS
	ownerDied      = 0x40000000 // FUTEX_OWNER_DIED
	kindRobust     = 0x10       // PTHREAD_MUTEX_ROBUST_NORMAL_NP
	kindInherit    = 0x20       // PTHREAD_MUTEX_PRIO_INHERIT_NP
	kindsOfMutexes = 0x3ff      // all that glibc keeps in __kind
)

// Parse returns the call. It reports false if a call with these arguments does not wait.
func Parse(args [6]uint64) (Call, bool) {
	c := Call{Addr: args[0], Value: uint32(args[2]), private: args[1]&flagPrivate != 0}
	switch c.op = uint32(args[1]) &^ (flagPrivate | flagClock); c.op {
	case opWait, opWaitBitset, opWaitRequeue, opLockPI, opLockPI2:
		return c, true
	}
	return Call{}, false
}

// Inherits reports whether the kernel knows the owner.
func (c Call) Inherits() bool { return c.op == opLockPI || c.op == opLockPI2 }

// Before and After bound the memory around Call.Addr that Lock looks at.
const (
	Before = 16
	After  = 56
)

// ConditionSize is the size of a pthread_cond_t, of glibc and of musl.
const ConditionSize = 48

// Memory is what could be read around a call's address.
type Memory struct {
	At    uint64
	Bytes []byte
}

// word returns the 32 bits at an address.
func (m Memory) word(addr uint64) (uint32, bool) {
	if addr < m.At || addr+4 > m.At+uint64(len(m.Bytes)) {
		return 0, false
	}
	return binary.LittleEndian.Uint32(m.Bytes[addr-m.At:]), true
}

// Kind says what is waited for.
type Kind uint8

const (
	Unknown   Kind = iota
	Mutex          // also C++'s std::mutex, and the lock of a condition variable
	ReadLock       // a read-write lock, to read
	WriteLock      // a read-write lock, to write
	Condition      // a condition variable
	Semaphore
	Barrier
	Once   // another thread's pthread_once
	Thread // the end of a thread
	RustMutex
	RustRWLock
	RustCondition
	RustPark // std::thread::park
	Goroutine
	Internal // a lock of the C library's own
)

var kindNames = [...]string{
	"futex", "mutex", "read-write lock", "read-write lock", "condition variable", "semaphore", "barrier", "pthread_once",
	"thread", "Rust mutex", "Rust read-write lock", "Rust condition variable", "Rust thread::park", "Go scheduler", "lock of the C library",
}

func (k Kind) String() string { return kindNames[k] }

// IsOwned reports whether some objects of the kind say which thread holds them.
func (k Kind) IsOwned() bool { return k == Mutex || k == ReadLock || k == WriteLock }

// IsLock reports whether the kind is something that threads hold, even if nothing says which thread does.
func (k Kind) IsLock() bool {
	switch k {
	case Mutex, ReadLock, WriteLock, RustMutex, RustRWLock, Internal:
		return true
	}
	return false
}

// callers are functions that wait. The key is the name without leading underscores, GI_ and a trailing version.
var callers = map[string]Kind{
	"pthread_mutex_lock": Mutex, "pthread_mutex_lock_full": Mutex, "pthread_mutex_timedlock": Mutex,
	"pthread_mutex_clocklock": Mutex, "pthread_mutex_clocklock_common": Mutex, "pthread_mutex_cond_lock": Mutex,
	"pthread_mutex_cond_lock_full": Mutex, "mtx_lock": Mutex, "mtx_timedlock": Mutex,
	"pthread_rwlock_rdlock": ReadLock, "pthread_rwlock_timedrdlock": ReadLock, "pthread_rwlock_clockrdlock": ReadLock,
	"pthread_rwlock_wrlock": WriteLock, "pthread_rwlock_timedwrlock": WriteLock, "pthread_rwlock_clockwrlock": WriteLock,
	"pthread_rwlock_rdlock_full": ReadLock, "pthread_rwlock_wrlock_full": WriteLock,
	"pthread_cond_wait": Condition, "pthread_cond_timedwait": Condition, "pthread_cond_clockwait": Condition,
	"pthread_cond_wait_common": Condition, "cnd_wait": Condition, "cnd_timedwait": Condition,
	"sem_wait": Semaphore, "sem_timedwait": Semaphore, "sem_clockwait": Semaphore, "new_sem_wait": Semaphore,
	"new_sem_wait_slow": Semaphore, "pthread_barrier_wait": Barrier, "pthread_once": Once, "pthread_once_slow": Once,
	"pthread_join": Thread, "pthread_timedjoin_np": Thread, "pthread_clockjoin_np": Thread, "pthread_clockjoin_ex": Thread,
	"pthread_timedjoin_ex": Thread, "thrd_join": Thread,
	"lll_lock_wait_private": Internal, "runtime.futex": Goroutine, "runtime.futexsleep": Goroutine,
}

// rust are parts of the names of Rust's functions that wait.
var rust = []struct {
	part string
	kind Kind
}{
	{"futex::Mutex::lock_contended", RustMutex}, {"futex_mutex::Mutex::lock_contended", RustMutex},
	{"parking_lot::raw_mutex::RawMutex::lock_slow", RustMutex},
	{"futex::RwLock::read_contended", RustRWLock}, {"futex::RwLock::write_contended", RustRWLock},
	{"futex_rwlock::RwLock::read_contended", RustRWLock}, {"futex_rwlock::RwLock::write_contended", RustRWLock},
	{"futex::Condvar::wait", RustCondition}, {"futex_condvar::Condvar::wait", RustCondition},
	{"Parker::park", RustPark}, {"std::thread::park", RustPark}, {"std::thread::functions::park", RustPark},
}

var angles = strings.NewReplacer("<", "", ">", "")

// CallerKind returns what a function waits for, Unknown if it is not one that is known to wait.
func CallerKind(function string) Kind {
	if strings.Contains(function, "::") {
		function = angles.Replace(function) // <std::sys::sync::mutex::futex::Mutex>::lock_contended
		for _, r := range rust {
			if strings.Contains(function, r.part) {
				return r.kind
			}
		}
		return Unknown
	}
	name, _, _ := strings.Cut(function, "@")
	if base, _, cut := strings.Cut(name, ".constprop"); cut {
		name = base
	}
	if k, ok := callers[name]; ok { // runtime.futex
		return k
	}
	name = strings.TrimLeft(name, "_")
	name = strings.TrimLeft(strings.TrimPrefix(name, "GI_"), "_")
	return callers[strings.TrimSuffix(name, "64")]
}

// A Lock is what a thread waits for.
type Lock struct {
	Kind Kind
	Addr uint64 // of the object; of the word where that is not known
	// Owner is the TID of the thread that holds the lock, or that is waited for, in the PID namespace of the process.
	// 0: not known.
	Owner int
	// OwnerAt is the address of the word that has the owner, or would have it if the lock were held; 0: there is no such
	// word. Holds tells whether a later value of the word names the same owner.
	OwnerAt uint64
	// Dead says that the kernel has marked the lock: its owner has ended.
	Dead bool
	// Readers is how many threads hold a read-write lock for reading.
	Readers int
	// Why says why the owner is not known, as in "condition variable".
	Why string
}

// Lock returns what the call waits for. kind is the CallerKind of the innermost known function, or Unknown. alive
// reports whether a number is that of a thread. If the kind is Unknown, Lock only trusts what the kernel keeps itself,
// and a mutex all of whose words are those of a mutex.
func (c Call) Lock(kind Kind, m Memory, alive func(tid int) bool) Lock {
	if c.Inherits() {
		return c.inheriting(m)
	}
	switch kind {
	case Mutex:
		return c.mutex(m)
	case ReadLock, WriteLock:
		return c.rwLock(kind, m, alive)
	case Thread:
		return Lock{Kind: Thread, Addr: c.Addr, Owner: int(c.Value)}
	case Unknown:
		if l := c.mutex(m); l.Owner != 0 && c.looksLikeMutex(m) && alive(l.Owner) {
			return l
		}
		return Lock{Addr: c.Addr, Why: "the function that waits is not known"}
	}
	return Lock{Kind: kind, Addr: c.Addr, Why: "a " + kind.String() + " keeps none"}
}

// inheriting handles a lock that the kernel knows: its word has the owner.
func (c Call) inheriting(m Memory) Lock {
	l := Lock{Kind: Mutex, Addr: c.Addr}
	if w, ok := m.word(c.Addr); ok {
		l.own(w, c.Addr)
	}
	l.explain()
	return l
}

// own sets the owner from a word that has it.
func (l *Lock) own(w uint32, at uint64) {
	l.Owner, l.OwnerAt, l.Dead = int(w&ownerMask), at, w&ownerDied != 0
}

func (l *Lock) explain() {
	if l.Owner == 0 && !l.Dead {
		l.Why = Free
	}
}

// Free is the reason why a lock that could have an owner has none.
const Free = "nobody had it at that moment"

// OwnerIn returns the TID of the thread that holds the lock, from a word that was read at OwnerAt; 0: no thread.
func OwnerIn(word uint32) int { return int(word & ownerMask) }

// Holds reports whether a word that was read at OwnerAt says that a thread holds the lock.
func Holds(word uint32, tid int) bool { return tid != 0 && OwnerIn(word) == tid }

// mutex looks at a pthread mutex. Glibc waits at the mutex's first word, which is 2 while threads wait, and has the
// owner 8 bytes behind it. A robust mutex has the owner in the first word. Musl waits at the second word, which has
// the owner, except in normal mutexes.
func (c Call) mutex(m Memory) Lock {
	l := Lock{Kind: Mutex, Addr: c.Addr}
	w, ok := m.word(c.Addr)
	if !ok {
		l.Why = "its memory cannot be read"
		return l
	}
	if c.Value&waiters == 0 { // glibc's
		if o, ok := m.word(c.Addr + 8); ok {
			if l.OwnerAt = c.Addr + 8; w != 0 {
				l.Owner = OwnerIn(o)
			}
		}
		l.explain()
		return l
	}
	if kind, ok := m.word(c.Addr + 16); ok && kind&kindRobust != 0 && kind&^kindsOfMutexes == 0 {
		if o, ok := m.word(c.Addr + 8); ok && (int(o) == int(w&ownerMask) || w&ownerMask == 0 || o == 0) {
			l.own(w, c.Addr)
			l.explain()
			return l
		}
	}
	l.Addr -= 4
	kind, ok := m.word(l.Addr)
	switch {
	case !ok || kind&15 == 0:
		l.Why = "a normal mutex of musl keeps none"
	default:
		l.own(w, c.Addr)
		l.explain()
	}
	return l
}

// looksLikeMutex reports whether the words are those of a glibc mutex that one thread holds and others wait for.
func (c Call) looksLikeMutex(m Memory) bool {
	w, _ := m.word(c.Addr)
	users, ok := m.word(c.Addr + 12)
	kind, known := m.word(c.Addr + 16)
	return c.op == opWait && c.Value == 2 && w == 2 && ok && users > 0 && users < 1<<16 && known && kind&^kindsOfMutexes == 0
}

// Offsets in struct __pthread_rwlock_arch_t.
const (
	rwReaders     = 0
	rwPhaseFutex  = 8
	rwWriterFutex = 12
	rwWriter      = 24
	rwShared      = 28
	rwPhaseWriter = 1 // in __readers: a writer has it, or is about to
	rwReaderShift = 3 // in __readers
)

// rwLock looks at a pthread read-write lock. A thread that wants to read waits at the word of the phase. A thread that
// wants to write waits there, or at the word of writers. The lock has the writer's TID; readers are only counted.
func (c Call) rwLock(kind Kind, m Memory, alive func(int) bool) Lock {
	if c.Value&waiters != 0 {
		return Lock{Kind: kind, Addr: c.Addr, Why: "a read-write lock of musl keeps none"}
	}
	l := Lock{Kind: kind, Addr: c.Addr, Why: "its memory cannot be read"}
	offsets := []uint64{rwPhaseFutex}
	if kind == WriteLock {
		offsets = append(offsets, rwWriterFutex)
	}
	for _, off := range offsets {
		base := c.Addr - off
		readers, ok1 := m.word(base + rwReaders)
		writer, ok2 := m.word(base + rwWriter)
		shared, ok3 := m.word(base + rwShared)
		if !ok1 || !ok2 || !ok3 || shared > 1 {
			continue
		}
		if writer != 0 {
			if alive(int(writer)) {
				return Lock{Kind: kind, Addr: base, Owner: int(writer), OwnerAt: base + rwWriter}
			}
			continue
		}
		if n := int(readers >> rwReaderShift); n > 0 && readers&rwPhaseWriter == 0 {
			l = Lock{Kind: kind, Addr: base, Readers: n, Why: "it is held to read, and keeps no readers"}
		} else if l.Readers == 0 {
			l = Lock{Kind: kind, Addr: base, Why: Free}
		}
	}
	return l
}
