package sample

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"

	"ptools/internal/locks"
	"ptools/internal/perfevent"
	"ptools/internal/source"
)

// Where the kernel saves the stack pointer and the number of the system call.
const savedSP, savedCall = 19, 15

// TestBlameRereads: whatever changes between two readings of a lock, only a thread that holds it is blamed.
func TestBlameRereads(t *testing.T) {
	const lock, holder, other = 0x500000, 101, 102
	type look int // how a holder that runs is looked at
	const (
		bySleep look = iota // not at all
		byPeek
		byStop
	)
	runs := func(t *fakeThread) { t.spin(0x20, 0x30) }
	for _, tt := range []struct {
		name   string
		second uint32            // owner at the second reading
		move   func(*fakeThread) // what the holder does after the first
		want   string            // why no thread is blamed
		stack  string            // of the holder
		look   look
	}{
		{"it holds it", holder, nil, "", "[[nanosleep] r1 s1]", bySleep},
		{"it has unlocked it", 0, nil, locks.ChangedHands, "", bySleep},
		{"another has it", other, nil, locks.ChangedHands, "", bySleep},
		{"it moves and holds it", holder, func(t *fakeThread) { t.block(35, 0x10, 0x1003) }, "", "[[nanosleep] q1 r1]", bySleep},
		{"it moves and has unlocked it", 0, func(t *fakeThread) { t.block(35, 0x10, 0x1003) }, locks.ChangedHands, "", bySleep},
		{"it runs", holder, runs, locks.NotSeen, "", bySleep},
		{"it runs and holds it", holder, runs, "", "[g1 w1]", byPeek},
		{"it runs and has unlocked it", 0, runs, locks.ChangedHands, "", byPeek},
		{"it runs and another has it", other, runs, locks.ChangedHands, "", byPeek},
		{"it holds it when it stops", holder, runs, "", "[g1 w1]", byStop},
		{"it has unlocked it when it stops", 0, runs, locks.NotSeen, "", byStop},
		{"another has it when it stops", other, runs, locks.NotSeen, "", byStop},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(3)
			w.threads[100].call.Args = [6]uint64{lock, 0x80, 2}
			w.threads[holder].block(35, 0x11, 0x1004)
			w.threads[other].block(35, 0x12, 0x1005)
			held := true
			w.memory = func(p []byte, addr uint64) {
				words := map[uint64]uint32{lock: 2, lock + 8: holder, lock + 12: 1}
				if len(p) == 4 { // the second reading
					words[lock+8], held = tt.second, true
				} else if addr == lock-16 && tt.move != nil && held {
					tt.move(w.threads[holder])
					w.threads[holder].sched.Slices++
					held = false
				}
				for at, v := range words {
					if at >= addr && at+4 <= addr+uint64(len(p)) {
						binary.LittleEndian.PutUint32(p[at-addr:], v)
					}
				}
			}
			o := &Options{Period: 10 * time.Millisecond, For: 100 * time.Millisecond, Clock: &fakeClock{}, Blame: &Blame{}}
			switch o.Ticks = Ticks(fakeTicks{w, 10 * time.Millisecond}); tt.look {
			case byPeek:
				o.Blame.Peek = func(_, tid int, at uint64) *perfevent.Peeked {
					if tid != holder || at != lock+8 {
						t.Errorf("tid %d is looked at, and %#x", tid, at)
					}
					q := &perfevent.Peeked{Word: tt.second}
					q.Regs[savedSP], q.Regs[savedCall] = uint64(tid)<<20, math.MaxUint64
					return q
				}
			case byStop:
				o.Ticks = nil
				tt.move(w.threads[holder])
			}
			s := New([]*source.Process{w.source()}, o)
			if err := s.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			list := blames(t, s)
			var sum time.Duration
			for _, b := range list {
				sum += b.time
				if b.Unknown != tt.want || b.Unknown == "" && (b.TID != holder || fmt.Sprint(b.stack) != tt.stack) || b.Unknown != "" && b.Holder != "" {
					t.Errorf("%+v", b)
				}
			}
			if len(list) == 0 || sum != 100*time.Millisecond {
				t.Errorf("%v in %d lines", sum, len(list))
			}
		})
	}
}

// TestBlameEnds: the wait of a thread that runs is over, even if it is not known yet where it runs.
func TestBlameEnds(t *testing.T) {
	const lock, holder, waiter = 0x500000, 101, 100
	w := newWorld(2)
	w.threads[waiter].call.Args = [6]uint64{lock, 0x80, 2}
	w.threads[holder].block(35, 0x11, 0x1004)
	owner := uint32(holder)
	w.memory = func(p []byte, addr uint64) {
		for at, v := range map[uint64]uint32{lock: 2, lock + 8: owner, lock + 12: 1} {
			if at >= addr && at+4 <= addr+uint64(len(p)) {
				binary.LittleEndian.PutUint32(p[at-addr:], v)
			}
		}
	}
	got := func(from, _ time.Duration) {
		if from == 50*time.Millisecond {
			owner = waiter
			w.threads[waiter].spin(0x20, 0x30)
			w.threads[waiter].sched.Slices++
		}
	}
	s := New([]*source.Process{w.source()}, &Options{Period: 10 * time.Millisecond, For: 100 * time.Millisecond, Clock: &fakeClock{run: got}, Blame: &Blame{}})
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if list := blames(t, s); len(list) != 1 || list[0].time != 50*time.Millisecond || list[0].TID != holder {
		t.Errorf("%+v, want 50 ms of tid %d", list, holder)
	}
}
