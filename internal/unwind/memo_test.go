package unwind

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestMemo: a memo has what was put into it last, begins small, and does not grow without a bound.
func TestMemo(t *testing.T) {
	const mostLg = 10
	var m memo[uint64]
	for range 100_000 {
		key := rand.Uint64()
		*m.room(key, mostLg) = key
		if got := *m.set(key); got != key {
			t.Fatalf("%#x instead of %#x, with %d sets", got, key, len(m.sets))
		}
	}
	if len(m.sets) != 1<<mostLg {
		t.Errorf("%d sets", len(m.sets))
	}
	known := 0
	keys := make([]uint64, 300)
	for i := range keys {
		keys[i] = rand.Uint64()
		*m.room(keys[i], mostLg) = keys[i]
	}
	for _, key := range keys {
		if *m.set(key) == key {
			known++
		}
	}
	if known < 200 { // 259 are expected
		t.Errorf("%d of %d are known", known, len(keys))
	}
	if most := uintptr(64 << 10); unsafe.Sizeof(Unwinder{}) > most {
		t.Errorf("an Unwinder has %d bytes, more than %d: psampled has one for each process", unsafe.Sizeof(Unwinder{}), most)
	}
}
