package hostile_test

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"ptools/internal/elfsym"
	"ptools/internal/hostile"
	"ptools/internal/ptest"
	"ptools/internal/unwind"
)

// Where the text of a hostile program is.
const text, textSize = 0x402000, 816

// read looks everything up that profilers do.
func read(b []byte) {
	f, err := elfsym.New(bytes.NewReader(b), int64(len(b)), "hostile", nil)
	if err != nil {
		return
	}
	table := unwind.NewTable(f)
	var lines [8]elfsym.Line
	for pc := uint64(text); pc < text+textSize; pc += 8 {
		f.Symbol(pc)
		f.Lines(pc, lines[:0])
		f.Variable(pc)
		readSignature(elfsym.SignatureOf(f, pc))
		f.Restartable(pc)
		table.Start(pc)
	}
	f.ByName("f1")
	f.ByName("no such function")
	f.InlinedIn("f1")
	f.Near("f", func(elfsym.Near) {})
	f.BuildID()
	f.FirstNeeded()
	if g, ok := f.Go(); ok {
		g.Structs("runtime.g")
		g.Version()
		for pc := uint64(text); pc < text+textSize; pc += 8 {
			g.SPDelta(pc)
		}
	}
	f.Missing()
}

// readSignature reads what the types of a signature refer to.
func readSignature(s *elfsym.Signature) {
	if s == nil {
		return
	}
	for _, p := range append(s.Params, s.Results...) {
		p.Type.Elem()
		p.Type.Len()
		p.Type.Fields()
		p.Type.Enumerator(7)
	}
}

// measured returns how long a reading takes, and how much memory it takes in all.
func measured(b []byte) (time.Duration, uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	read(b)
	spent := time.Since(began)
	runtime.ReadMemStats(&after)
	return spent, after.TotalAlloc - before.TotalAlloc
}

// TestRead: the work for a file is in proportion to its size. The limits are far above what a reading takes on a busy machine, and
// far below what reading the tables again and again takes.
func TestRead(t *testing.T) {
	for _, kind := range ptest.Some(t, hostile.Kinds(), ptest.Rounds(2, 3, 100)) {
		t.Run(kind, func(t *testing.T) {
			b := hostile.Build(kind, 0)
			spent, memory := measured(b)
			t.Logf("%d bytes: %v, %d MB", len(b), spent, memory>>20)
			if limit := 20 * time.Second * slower; spent > limit {
				t.Errorf("%v, more than %v", spent, limit)
			}
			if limit := uint64(1 << 30); memory > limit {
				t.Errorf("%d MB, more than %d", memory>>20, limit>>20)
			}
		})
	}
}

// FuzzRead changes hostile files at a few places: in their tables, where each change keeps the structure.
func FuzzRead(f *testing.F) {
	kinds := hostile.Kinds()
	for i := range kinds {
		f.Add(uint8(i), uint16(100), uint64(i), uint8(0))
		if ptest.Torture() {
			f.Add(uint8(i), uint16(2000), uint64(i), uint8(5))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, n uint16, seed uint64, changes uint8) {
		b := hostile.Build(kinds[int(kind)%len(kinds)], int(n)%4096+1)
		random := rand.New(rand.NewPCG(seed, 0))
		for range changes {
			at := random.IntN(len(b))
			switch random.IntN(3) {
			case 0:
				b[at] = byte(random.Uint32())
			case 1: // one part over another
				from := random.IntN(len(b))
				copy(b[at:], b[from:min(from+32, len(b))])
			case 2: // an offset, count or size that is at an edge
				edges := []uint64{0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, 1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 1, text, uint64(len(b)), uint64(at)}
				v := edges[random.IntN(len(edges))]
				for i := range min(random.IntN(9), len(b)-at) {
					b[at+i] = byte(v >> (8 * i))
				}
			}
		}
		if spent, memory := measured(b); spent > 10*time.Second*slower || memory > 1<<30 {
			t.Errorf("%s: %v, %d MB", kinds[int(kind)%len(kinds)], spent, memory>>20)
		}
	})
}
