package futex

import (
	"encoding/binary"
	"strings"
	"testing"
)

// words is memory at 0x1000 of 32-bit words.
func words(w ...uint32) Memory {
	m := Memory{At: 0x1000}
	for _, v := range w {
		m.Bytes = binary.LittleEndian.AppendUint32(m.Bytes, v)
	}
	return m
}

func call(t *testing.T, addr, op, value uint64) Call {
	t.Helper()
	c, ok := Parse([6]uint64{addr, op, value})
	if !ok {
		t.Fatalf("operation %d does not wait", op)
	}
	return c
}

// TestLock: owners are taken only from words that have one.
func TestLock(t *testing.T) {
	only := func(tids ...int) func(int) bool {
		return func(tid int) bool {
			for _, x := range tids {
				if x == tid {
					return true
				}
			}
			return false
		}
	}
	for _, tt := range []struct {
		name   string
		kind   Kind
		call   Call
		memory Memory
		alive  func(int) bool
		owner  int
		addr   uint64
		why    string
	}{
		{"held", Mutex, call(t, 0x1000, 0x80, 2), words(2, 0, 77, 1, 0), only(77), 77, 0x1000, ""},
		{"its owner has ended", Mutex, call(t, 0x1000, 0x80, 2), words(2, 0, 77, 1, 0), only(), 77, 0x1000, ""},
		{"just unlocked", Mutex, call(t, 0x1000, 0x80, 2), words(0, 0, 0, 0, 0), only(), 0, 0x1000, "nobody"},
		{"just locked", Mutex, call(t, 0x1000, 0x80, 2), words(2, 0, 0, 0, 0), only(), 0, 0x1000, "nobody"},
		{"not to be read", Mutex, call(t, 0x1000, 0x80, 2), Memory{}, only(77), 0, 0x1000, "cannot be read"},
		{"robust", Mutex, call(t, 0x1000, 0, 0x80000000|77), words(0x80000000|77, 0, 77, 1, 0x290), only(77), 77, 0x1000, ""},
		{"robust, owner died", Mutex, call(t, 0x1000, 0, 0x80000000|77), words(0xc0000000|77, 0, 77, 1, 0x10), only(), 77, 0x1000, ""},
		{"robust, the kernel has marked it", Mutex, call(t, 0x1000, 0, 0x80000000|77), words(0xc0000000, 0, 77, 1, 0x10), only(), 0, 0x1000, ""},
		{"musl, recursive", Mutex, call(t, 0x1004, 0x80, 0x80000000|77), words(1, 0x80000000|77, 1, 0, 0), only(77), 77, 0x1000, ""},
		{"musl, normal", Mutex, call(t, 0x1004, 0x80, 0x80000000|16), words(0, 0x80000000|16, 1, 0, 0), only(16), 0, 0x1000, "musl"},
		{"inheriting priority", Unknown, call(t, 0x1000, 0x86, 0), words(0x80000000 | 77), only(77), 77, 0x1000, ""},
		{"a nameless function, a mutex by its words", Unknown, call(t, 0x1000, 0x80, 2), words(2, 1, 77, 1, 1), only(77), 77, 0x1000, ""},
		{"a nameless function, no such thread", Unknown, call(t, 0x1000, 0x80, 2), words(2, 1, 77, 1, 1), only(), 0, 0x1000, "not known"},
		{"a nameless function, an odd kind", Unknown, call(t, 0x1000, 0x80, 2), words(2, 1, 77, 1, 0x4001), only(77), 0, 0x1000, "not known"},
		{"a condition variable before a number", Condition, call(t, 0x1000, 0x80, 2), words(2, 1, 77, 1, 1), only(77), 0, 0x1000, "keeps none"},
		{"written", ReadLock, call(t, 0x1008, 0x80, 3), words(9, 0, 3, 0, 0, 0, 77, 0), only(77), 77, 0x1000, ""},
		{"read", WriteLock, call(t, 0x100c, 0x80, 1), words(2<<3, 1, 0, 1, 0, 0, 0, 0), only(77), 0, 0x1000, "to read"},
		{"musl's", ReadLock, call(t, 0x1008, 0x80, 0xffffffff), words(9, 0, 3, 0, 0, 0, 77, 0), only(77), 0, 0x1008, "musl"},
	} {
		l := tt.call.Lock(tt.kind, tt.memory, tt.alive)
		if l.Owner != tt.owner || l.Addr != tt.addr || tt.why == "" && l.Why != "" || !strings.Contains(l.Why, tt.why) {
			t.Errorf("%s: %+v, want owner %d at %#x, %q", tt.name, l, tt.owner, tt.addr, tt.why)
		}
	}
}

// TestParse: only operations that wait.
func TestParse(t *testing.T) {
	for op, waits := range map[uint64]bool{0: true, 1: false, 3: false, 4: false, 5: false, 6: true, 7: false, 9: true, 10: false, 11: true, 13: true, 0x189: true, 0x81: false} {
		if _, ok := Parse([6]uint64{0x1000, op, 0}); ok != waits {
			t.Errorf("operation %#x waits: %v", op, ok)
		}
	}
}

// TestCallerKind: functions by their names as symbol tables have them.
func TestCallerKind(t *testing.T) {
	for name, want := range map[string]Kind{
		"pthread_mutex_lock": Mutex, "___pthread_mutex_lock": Mutex, "__GI___pthread_mutex_lock": Mutex, "pthread_mutex_lock@GLIBC_2.2.5": Mutex,
		"__new_sem_wait_slow64.constprop.0": Semaphore, "__pthread_rwlock_wrlock_full64": WriteLock, "pthread_cond_timedwait": Condition,
		"std::sys::sync::mutex::futex::Mutex::lock_contended": RustMutex, "std::sys::unix::locks::futex_mutex::Mutex::lock_contended": RustMutex,
		"<std::sys::sync::mutex::futex::Mutex>::lock_contended": RustMutex, "std::thread::functions::park": RustPark,
		"runtime.futex": Goroutine, "__pthread_clockjoin_ex": Thread, "__futex_abstimed_wait_common": Unknown, "": Unknown,
		"my::pthread_mutex_lock": Unknown, "pthread_mutex_unlock": Unknown,
	} {
		if got := CallerKind(name); got != want {
			t.Errorf("%q waits for %v, want %v", name, got, want)
		}
	}
}
