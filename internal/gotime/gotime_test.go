package gotime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"ptools/internal/goroutines"
	"ptools/internal/unwind"
)

// fake is a program with three goroutines and one of the runtime's.
type fake struct {
	missing  int           // times that it is not found
	finding  time.Duration // what finding takes
	why      error
	readings int
	err      error // of the reading after
	after    int
	reading  func() // called by each
}

var stack = &goroutines.Stack{Frames: []unwind.Frame{{PC: 1}, {PC: 2}, {PC: 3}}}

func (f *fake) Find() error {
	time.Sleep(f.finding)
	if f.missing--; f.missing >= 0 {
		return f.why
	}
	return nil
}

func (f *fake) Read(_ context.Context, each func(*goroutines.G)) (unread int, err error) {
	if f.reading != nil {
		f.reading()
	}
	if f.readings++; f.readings > f.after {
		return 0, f.err
	}
	labels := []goroutines.Label{{Key: "k", Value: "v"}}
	each(&goroutines.G{ID: 1, Status: goroutines.Waiting, Reason: "select", Start: 3, Stack: stack, Labels: labels})
	each(&goroutines.G{ID: 2, Status: goroutines.Waiting, Reason: "select", Start: 3, Stack: stack, Labels: labels})
	each(&goroutines.G{ID: 3, Status: goroutines.Running, Start: 3})
	each(&goroutines.G{ID: 4, Status: goroutines.Changing})
	each(&goroutines.G{ID: 5, Status: goroutines.Waiting, Start: 9, Stack: stack})
	return 1, nil
}

func (f *fake) Name(pc uint64) string {
	return map[uint64]string{1: "runtime.gopark", 2: "main.f", 3: "main.main", 9: "runtime.bgsweep"}[pc]
}

// TestRound: what is counted, and under which stack.
func TestRound(t *testing.T) {
	tk := &taker{program: &fake{after: 1}, names: make(map[uint64]string)}
	r, err := tk.round(t.Context(), time.Second)
	if err != nil || r.Goroutines != 4 || r.Unread != 1 || r.Unsettled != 1 || r.Length != time.Second || len(r.Sights) != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	s := r.Sights[0]
	if s.Count != 2 || s.State != "select" || len(s.Labels) != 1 || len(s.Frames) != 2 || s.Frames[0].PC != 2 {
		t.Errorf("those that wait: %+v", s)
	}
	if s := r.Sights[1]; s.Count != 1 || s.State != "running" || len(s.Frames) != 1 || s.Frames[0].PC != 3 {
		t.Errorf("the one that runs: %+v", s)
	}
	if s := r.Sights[2]; s.State != "changing" || s.Frames != nil {
		t.Errorf("the one that changes: %+v", s)
	}
}

// TestEnd: a program that is over ends the sampling, and what was read before is there.
func TestEnd(t *testing.T) {
	f := &fake{after: 2, err: fmt.Errorf("%w: gone", ErrOver)}
	s := Start(time.Millisecond, false, f)
	<-s.done
	if rounds := s.Take(); len(rounds) != 2 || !errors.Is(s.Err(), ErrOver) {
		t.Errorf("%d rounds, %v", len(rounds), s.Err())
	}
	s.Close()
}

// TestFailures: after a reading that fails, for whatever reason, there are others, and as long as there is none the error says why.
func TestFailures(t *testing.T) {
	for _, why := range []error{goroutines.ErrEarly, goroutines.ErrNone, goroutines.ErrVersion, errors.New("its pages do not come")} {
		var s atomic.Pointer[Sampler]
		var seen []error // at the beginning of each reading
		look := func() {
			if s := s.Load(); s != nil {
				seen = append(seen, s.Err())
			}
		}
		f := &fake{missing: 3, why: why, after: 2, err: fmt.Errorf("%w: gone", ErrOver), reading: look}
		s.Store(Start(time.Millisecond, false, f))
		<-s.Load().done
		if !slices.Equal(seen, []error{why, nil, nil}) || len(s.Load().Take()) != 2 {
			t.Errorf("%v: %v", why, seen)
		}
	}
	f := &fake{missing: 1 << 30, why: goroutines.ErrEarly}
	s := Start(time.Millisecond, false, f)
	s.Close() // while it waits
	if s.Take() != nil {
		t.Error("rounds of nothing")
	}
}

// TestSlowFinding: that it takes long to read a file's symbols, before the program has a goroutine, does not put off the next look.
func TestSlowFinding(t *testing.T) {
	f := &fake{missing: 3, why: goroutines.ErrEarly, finding: 50 * time.Millisecond, after: 1, err: ErrOver}
	began := time.Now()
	s := Start(time.Millisecond, false, f)
	defer s.Close()
	for len(s.Take()) == 0 {
		time.Sleep(time.Millisecond)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the first round came after %v", took)
	}
}

// TestPace: readings take a hundredth of the time, and slots lie side by side unless a reading takes too long.
func TestPace(t *testing.T) {
	p := pace{usual}
	for range 50 {
		if slot := p.slot(7*time.Millisecond, time.Millisecond); slot != 700*time.Millisecond {
			t.Fatalf("a slot of %v", slot)
		}
	}
	if slot := p.slot(time.Microsecond, time.Second); slot != time.Second {
		t.Errorf("a slot of %v", slot)
	}
	p.slot(5*time.Millisecond, time.Millisecond)
	if slot := p.slot(time.Hour, time.Millisecond); slot != 500*time.Millisecond {
		t.Errorf("a slot of %v after a reading for which the machine had no time", slot)
	}
	p = pace{usual}
	if slot := p.slot(time.Hour, time.Millisecond); slot != time.Second {
		t.Errorf("a slot of %v after such a first reading", slot)
	}
	if slot := p.slot(time.Minute, time.Millisecond); slot != 100*time.Minute {
		t.Errorf("a slot of %v after readings of a minute", slot)
	}
	begin := time.Now()
	s := slot{begin, time.Hour}
	for range 1000 {
		if at := s.moment(); at.Before(begin) || at.After(begin.Add(time.Hour)) {
			t.Fatalf("%v is not in the slot", at)
		}
	}
	if next := s.next(time.Minute); !next.begin.Equal(begin.Add(time.Hour)) || next.length != time.Minute {
		t.Errorf("%+v", next)
	}
	late := slot{begin.Add(-time.Hour), time.Minute}
	if next := late.next(time.Minute); next.begin.Before(begin) {
		t.Errorf("a slot that is over: %+v", next)
	}
}
