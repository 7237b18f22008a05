package gotime

import (
	"context"
	"errors"
	"testing"
	"time"

	"ptools/internal/goroutines"
	"ptools/internal/unwind"
)

// fake is a program with three goroutines and one of the runtime's.
type fake struct {
	readings, closed int
	err              error // of the reading after
	after            int
}

var stack = &goroutines.Stack{Frames: []unwind.Frame{{PC: 1}, {PC: 2}, {PC: 3}}}

func (f *fake) Read(_ context.Context, each func(*goroutines.G)) (unread int, err error) {
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

func (f *fake) Close() { f.closed++ }

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

// TestEnd: a reading that fails ends the sampling, and what was read before is there.
func TestEnd(t *testing.T) {
	gone := errors.New("gone")
	f := &fake{after: 2, err: gone}
	s := Start(time.Millisecond, false, func() (Program, error) { return f, nil })
	<-s.done
	if rounds := s.Take(); len(rounds) != 2 || s.Err() != gone || f.closed != 1 {
		t.Errorf("%d rounds, %v, closed %d times", len(rounds), s.Err(), f.closed)
	}
	s.Close()
}

// TestEarly: the runtime of a program that has just begun is waited for.
func TestEarly(t *testing.T) {
	f, tries := &fake{after: 1, err: errors.New("gone")}, 0
	s := Start(time.Millisecond, false, func() (Program, error) {
		if tries++; tries < 3 {
			return nil, goroutines.ErrEarly
		}
		return f, nil
	})
	<-s.done
	if len(s.Take()) != 1 || tries != 3 {
		t.Errorf("%d tries, %v", tries, s.Err())
	}
	s = Start(time.Millisecond, false, func() (Program, error) { return nil, goroutines.ErrEarly })
	s.Close() // while it waits
	if s.Take() != nil {
		t.Error("rounds of nothing")
	}
}

// TestPace: readings take a hundredth of the time, and slots lie side by side unless a reading takes too long.
func TestPace(t *testing.T) {
	var p pace
	for range 50 {
		if slot := p.slot(7*time.Millisecond, time.Millisecond); slot != 700*time.Millisecond {
			t.Fatalf("a slot of %v", slot)
		}
	}
	if slot := p.slot(time.Microsecond, time.Second); slot != time.Second {
		t.Errorf("a slot of %v", slot)
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
