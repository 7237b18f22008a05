package ptrace

import (
	"testing"

	"ptools/internal/ptest"
)

// transferKinds lists kinds of the target transfers.
var transferKinds = []struct {
	kind string
	nr   int64
	want Short
}{
	{"write pipe", 1, PerhapsShort},
	{"write socket", 1, PerhapsShort},
	{"writev pipe", 20, PerhapsShort},
	{"sendto", 44, PerhapsShort},
	{"sendmsg", 46, PerhapsShort},
	{"recv MSG_WAITALL", 45, PerhapsShort},
	{"recvmsg MSG_WAITALL", 47, PerhapsShort},
	{"recvmmsg", 299, PerhapsShort},
	{"sendmmsg", 307, PerhapsShort},
	{"sendfile", 40, PerhapsShort},
	{"read terminal", 0, ShortOfTerminal},
	{"io_getevents", 208, PerhapsShort},
	{"getrandom", 318, PerhapsShort},
	{"read /dev/urandom", 0, ShortOfTerminal}, // no thread is ever found asleep in it
}

// TestShortAtStop shows which calls return less than they were asked for when a stop interrupts them. ShortAtStop
// must know them.
func TestShortAtStop(t *testing.T) {
	for _, test := range transferKinds {
		t.Run(test.kind, func(t *testing.T) {
			g := ptest.StartWith(t, &ptest.Options{Foreign: true, Truth: ptest.NewTruth(t)}, ptest.BuildC(t, "transfers.c"), "-k", test.kind)
			g.Ready()
			x := newTracer(t)
			mover := 0
			for _, tid := range g.Threads() {
				if tid != g.PID {
					mover = tid
				}
			}
			x.seize(mover, 0)
			g.WaitFor("a short transfer", func() bool {
				x.halt(mover)
				regs := x.regs(mover)
				if nr, result, ok := regs.SyscallReturn(); ok && nr == test.nr && result > 1 {
					if got := ShortAtStop(nr, regs.SyscallArgs()); got != test.want {
						t.Errorf("call %d returns %d: %v, want %v", nr, result, got, test.want)
					}
				}
				x.must(Cont(mover, 0))
				return shorts(g) > 0
			})
		})
	}
}

// TestWholeAtStop: a stop does not shorten the results of these calls.
func TestWholeAtStop(t *testing.T) {
	for name, c := range map[string]struct {
		nr   int64
		args [6]uint64
	}{
		"a byte of a terminal":       {0, [6]uint64{0, 0, 1}},
		"recv":                       {45, [6]uint64{3, 0, 100}},
		"recvmsg":                    {47, [6]uint64{}},
		"recvmmsg of one":            {299, [6]uint64{3, 0, 1}},
		"recvmmsg until one":         {299, [6]uint64{3, 0, 8, waitForOne}},
		"epoll_wait":                 {232, [6]uint64{3, 0, 8, 1000}},
		"futex":                      {202, [6]uint64{}},
		"getrandom of a seed":        {318, [6]uint64{0, 256}},
		"io_uring_enter that waits":  {426, [6]uint64{3, 0, 1}},
		"io_getevents for one event": {208, [6]uint64{0, 1, 8}},
	} {
		if got := ShortAtStop(c.nr, c.args); got != Whole {
			t.Errorf("%s: %v", name, got)
		}
	}
	for s, want := range map[Short]string{Whole: "whole", PerhapsShort: "perhaps short", ShortOfTerminal: "short of a terminal"} {
		if s.String() != want {
			t.Errorf("%d is %q", s, s)
		}
	}
}
