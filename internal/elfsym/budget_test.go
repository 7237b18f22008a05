package elfsym

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"time"
)

// TestBudget: a file that has cost all that it may keeps the names it has, gets no others, and says so.
func TestBudget(t *testing.T) {
	b := tinyELF()
	f, err := New(bytes.NewReader(b), int64(len(b)), "tiny", nil)
	if err != nil {
		t.Fatal(err)
	}
	first, ok := f.Symbol(0x105)
	if !ok || f.Missing() != nil {
		t.Fatalf("%+v, %v", first, f.Missing())
	}
	if n := f.budget.work.Load(); n == 0 || n > 64<<10 {
		t.Errorf("%d bytes of work for a file of %d", n, len(b))
	}
	f.budget.work.Store(leastWork + workTimes*uint64(len(b)) + uint64(time.Hour.Seconds()*workRate))
	if found := f.ByName("plain"); found != nil {
		t.Errorf("found beyond the budget: %+v", found)
	}
	if s, ok := f.Symbol(0x105); !ok || s != first {
		t.Errorf("%+v, not %+v", s, first)
	}
	if err := f.Missing(); !errors.Is(err, errExcess) {
		t.Errorf("%v", err)
	}
	if !f.Keep(1) || f.Keep(mostKept) || f.Spend(1) {
		t.Error("bytes are kept, or work is done, beyond the budget")
	}
}

// TestBudgetGrows: what is granted grows with time and with the debug files, and the size that a file claims is not trusted.
func TestBudgetGrows(t *testing.T) {
	b := newBudget(1 << 20)
	const granted = leastWork + workTimes<<20
	if !b.affords(granted) || b.affords(granted+workRate*60) {
		t.Error("the size does not count")
	}
	b.grow(1 << 20)
	if !b.affords(granted + workTimes<<20) {
		t.Error("the debug file does not count")
	}
	b.began = b.began.Add(-time.Hour)
	if !b.affords(granted + workRate*3600) {
		t.Error("time does not count")
	}
	if b := newBudget(1 << 62); b.affords(leastWork + 2*workTimes*mostSized) {
		t.Error("a claimed size counts")
	}
}

// TestPace: the work for several files that have cost much takes a part of the processors. That for one is not held up.
func TestPace(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	work := func(p *pace, of ...*budget) time.Duration {
		began := time.Now()
		for i := range 50 {
			for end := time.Now().Add(time.Millisecond); time.Now().Before(end); {
			}
			p.keep(of[i%len(of)])
		}
		return time.Since(began)
	}
	one, other := newBudget(0), newBudget(0)
	var p pace
	work(&p, one)
	if next := p.next.Load() - one.paced.Load(); next > 0 {
		t.Errorf("the work for one file is due in %v", time.Duration(next))
	}
	if spent := work(&p, one, other); spent < 80*time.Millisecond {
		t.Errorf("50 ms of work for two files took %v", spent)
	}
}
