package goroutines

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/unwind"
)

// made is the memory of a program that has made its goroutines up: many times the same one, with a deep stack, labels, ancestors and a select of many
// cases, all of which refer to themselves.
type made struct {
	l    *layout
	n    uint64 // of goroutines
	rand *rand.Rand
	odds float64 // of a bit of what is read to be another one
	read int     // bytes
}

// Addresses of what is made up.
const (
	madeList  = 0x10000
	madeArray = 0x10000000
	madeG     = 0x90000000
	madeStack = 0xa0000000
	madeSudog = 0xb0000000
	madeLabel = 0xc0000000
)

func (m *made) word(addr uint64) uint64 {
	g, s := &m.l.g, &m.l.sudog
	switch {
	case addr >= madeArray && addr < madeG:
		return madeG
	case addr >= madeStack && addr < madeSudog:
		return addr + 64
	case addr >= madeLabel:
		return []uint64{madeLabel, 32, 32, madeLabel, 1 << 40}[(addr-madeLabel)/8%5]
	}
	return map[uint64]uint64{
		madeList: madeArray, madeList + 8: m.n, madeList + 16: m.n,
		madeG: madeStack, madeG + 8: madeStack + 64<<20, madeG + g.sched: madeStack + 1<<20, madeG + g.sched + 8: 0x401000, madeG + g.sched + 16: madeG,
		madeG + g.status: uint64(Waiting), madeG + g.goid: 7, madeG + g.sudog: madeSudog, madeG + g.label: madeLabel, madeG + g.ancestors: madeLabel, madeG + g.m: madeG, madeG + g.lockedm: madeG,
		madeSudog + s.next: madeSudog, madeSudog + s.channel: madeSudog,
	}[addr]
}

func (m *made) ReadAt(b []byte, addr int64) (int, error) {
	var w [8]byte
	for i := range b {
		at := uint64(addr) + uint64(i)
		if i == 0 || at%8 == 0 {
			binary.LittleEndian.PutUint64(w[:], m.word(at&^7))
		}
		if b[i] = w[at%8]; m.odds > 0 && m.rand.Float64() < m.odds {
			b[i] ^= 1 << m.rand.IntN(8)
		}
	}
	m.read += len(b)
	return len(b), nil
}

func (m *made) ReadVec(dst [][]byte, addrs []uint64) (n int, err error) {
	for i, b := range dst {
		got, _ := m.ReadAt(b, int64(addrs[i]))
		n += got
	}
	return n, nil
}

// everywhere is code at any address, which nothing is known about.
type everywhere struct{}

func (everywhere) Find(pc uint64) (unwind.Mapping, bool) {
	return unwind.Mapping{Start: 0, End: 1 << 47, Special: unwind.Anonymous}, true
}

// TestMadeUp: what is read and kept of a program that attacks its reader is in proportion to its goroutines, and bounded in all.
func TestMadeUp(t *testing.T) {
	l, ok := tabled("go1.26.0")
	if !ok {
		t.Fatal("no layout")
	}
	for _, odds := range []float64{0, 1e-5, 1e-3, 0.1} {
		m := &made{l: &l, n: uint64(ptest.Rounds(40, 300, 20000)), rand: ptest.Rand(t), odds: odds}
		r := (&Runtime{layout: l, allgs: madeList}).NewReader(m, everywhere{})
		found, whole := 0, 0
		err := r.Read(context.Background(), func(g *G) bool {
			found++
			if len(g.Channels) > maxChannels || len(g.Labels) > maxLabels || g.Line != nil && len(g.Line.Ancestors) > maxAncestors {
				t.Errorf("%d channels, %d labels, %v", len(g.Channels), len(g.Labels), g.Line)
			}
			if g.Line != nil && len(g.Labels) > 0 {
				whole++
			}
			return true
		})
		line := maxAncestors * (ancestorSize + 8*maxCalls)
		if limit := int(m.n) * (wide + 3*rounds*(2*maxG+window+maxLabels*2*maxText) + rounds*line); m.read > limit {
			t.Errorf("%d bytes read, more than %d", m.read, limit)
		}
		if found+r.Unread > int(m.n) || err == nil && odds == 0 && found != int(m.n) {
			t.Errorf("%d goroutines and %d unread of %d: %v", found, r.Unread, m.n, err)
		}
		if odds == 0 && whole != found {
			t.Errorf("%d of %d goroutines have labels and ancestors", whole, found)
		}
		t.Logf("odds %g: %d goroutines, %d unread, %d MB read, %v", odds, found, r.Unread, m.read>>20, err)
	}
}

// TestTooMany: a list that is too long, or none, is refused.
func TestTooMany(t *testing.T) {
	l, _ := tabled("go1.26.0")
	for _, n := range []uint64{0, maxGoroutines + 1, 1 << 63} {
		m := &made{l: &l, n: n}
		r := &Runtime{layout: l, allgs: madeList}
		if r.holds(m) {
			t.Errorf("%d goroutines are believed", n)
		}
		if err := r.NewReader(m, everywhere{}).Read(context.Background(), func(*G) bool { return true }); err == nil {
			t.Errorf("%d goroutines are read", n)
		}
	}
}
