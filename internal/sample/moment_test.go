package sample

import (
	"strings"
	"testing"
	"time"

	"ptools/internal/profile"
	"ptools/internal/ptest"
)

// pairing is a function and the one that calls it. It is called while others are, by turns, at the same place of the stack.
type pairing struct{ caller, callee string }

// TestCallersOfTheMoment: callers that are not in the copy of a stack, because it has changed stacks or has large frames, are those of
// the sample's moment, although the thread has called another function by the time that the stack is unwound. Nearly all
// stacks have them.
func TestCallersOfTheMoment(t *testing.T) {
	for _, b := range []struct {
		subject
		turns []pairing
	}{
		{built("C", c("testdata/turns.c", "-O2", "-fno-inline")), []pairing{{"calls_one", "large_one"}, {"calls_two", "large_two"}, {"raises", "handler"}}},
		{built("cgo", golang("testdata/cgoturns.go")), []pairing{{"main.callsOne", "c_one"}, {"main.callsTwo", "c_two"}}},
	} {
		t.Run(b.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, use UseTimers) {
				g := ptest.Start(t, b.argv(t)...)
				g.Ready()
				s := sampleBy(t, use, int64(ptest.Rounds(1500, 1500, 5_000)), time.Second/999, nil, attach(t, g.PID, nil))
				checkTurns(t, s, b.turns)
			})
		})
	}
}

// checkTurns demands that each callee has its caller, or none.
func checkTurns(t *testing.T, s *Sampler, turns []pairing) {
	var wrong, cut, all float64
	for line := range strings.Lines(folded(t, s, profile.CPU)) {
		i := strings.LastIndexByte(line, ' ')
		n, stack := number(line[i+1:]), ";"+line[:i]+";"
		for _, mine := range turns {
			if !strings.Contains(stack, ";"+mine.callee+";") {
				continue
			}
			all += n
			if !strings.Contains(stack, ";"+mine.caller+";") {
				cut += n
			}
			for _, other := range append(turns, pairing{caller: "innocent"}) {
				if other.caller != mine.caller && strings.Contains(stack, ";"+other.caller+";") {
					wrong += n
					t.Logf("%v ns of %s", time.Duration(n), line[:i])
				}
			}
		}
	}
	ticks := float64(max(s.Cost().Ticks, 1))
	t.Logf("%v stacks; %.1f %% are cut, %.1f %% wrong", ticks, 100*cut/all, 100*wrong/all)
	const learning = 12 // stacks that show where others continue
	if all == 0 || wrong > 0 || cut > all*(0.1+learning/ticks) {
		t.Errorf("of %v, %v have no caller, and %v a wrong one", time.Duration(all), time.Duration(cut), time.Duration(wrong))
	}
}
