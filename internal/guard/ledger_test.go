package guard

import (
	"encoding/binary"
	"testing"
)

// newTestLedger has room for n records.
func newTestLedger(n int) ledger { return newLedger(make([]byte, (firstRecord+n*recordWords)*8)) }

// all returns the good records of a ledger.
func all(words []uint64) (ps []patch) {
	for i := range top(words) {
		if p, ok := read(words, i); ok {
			ps = append(ps, p)
		}
	}
	return ps
}

// TestLedger: a record that was put is found. One that was dropped is not, and its place is used again.
func TestLedger(t *testing.T) {
	l := newTestLedger(2)
	one, two := patch{7, 4194304, 1<<63 + 5, 0xcc, 0x55}, patch{1<<32 - 1, 1, 0, 0xff, 0}
	first, ok := l.put(one)
	if !ok {
		t.Fatal("no room for the first")
	}
	if _, ok := l.put(two); !ok {
		t.Fatal("no room for the second")
	}
	if got := all(l.words); len(got) != 2 || got[0] != one || got[1] != two {
		t.Errorf("ledger has %+v", got)
	}
	if _, ok := l.put(one); ok {
		t.Error("room for a third")
	}
	l.drop(first)
	if got := all(l.words); len(got) != 1 || got[0] != two {
		t.Errorf("ledger has %+v", got)
	}
	three := patch{8, 3, 9, 1, 2}
	if again, ok := l.put(three); !ok || again != first {
		t.Errorf("record %d, %v", again, ok)
	}
	if got := all(l.words); len(got) != 2 || got[0] != three {
		t.Errorf("ledger has %+v", got)
	}
}

// FuzzLedger: whatever the memory contains, its records are within it, and are such as put writes.
func FuzzLedger(f *testing.F) {
	f.Add(uint64(1), []byte{1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0x55, 0xcc, 0, 0x80})
	f.Add(^uint64(0), make([]byte, 64))
	f.Fuzz(func(t *testing.T, n uint64, b []byte) {
		l := newTestLedger(1 + len(b)/(8*recordWords))
		for i := range len(b) / 8 {
			l.words[firstRecord+i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		l.words[topWord] = n
		found := all(l.words)
		copied := newTestLedger(len(found) + 1)
		for _, p := range found {
			if _, ok := copied.put(p); !ok {
				t.Fatal("no room")
			}
		}
		for i, p := range all(copied.words) {
			if p != found[i] {
				t.Errorf("record %d is %+v, and %+v when it is put", i, found[i], p)
			}
		}
	})
}
