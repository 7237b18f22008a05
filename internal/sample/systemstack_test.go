package sample

import (
	"math"
	"strings"
	"testing"
	"time"

	"ptools/internal/profile"
	"ptools/internal/ptest"
)

// TestSystemStack: a Go program works on its system stack for a large part of its time. Nearly
// all timers' samples can be used, and they show what stops show. They consist of the same
// calls, and a stack with one of the program's own functions has all its callers.
func TestSystemStack(t *testing.T) {
	needTimers(t)
	g := ptest.Start(t, ptest.BuildGo(t, "../unwind/testdata/garbage.go"))
	g.Ready()
	rounds := int64(ptest.Rounds(500, 1500, 20_000))
	byStops := sampleBy(t, TimersOff, rounds, time.Second/999, nil, attach(t, g.PID, nil))
	known, once := make(map[string]bool), unseen(t, byStops)
	for _, v := range []profile.Value{profile.Samples, profile.CPU} {
		eachCall(t, byStops, v, func(call string, _ float64) { known[call] = true })
	}

	g = ptest.Start(t, ptest.BuildGo(t, "../unwind/testdata/garbage.go"))
	g.Ready()
	s := sampleBy(t, TimersOnly, rounds, time.Second/999, nil, attach(t, g.PID, nil))
	var all, unknown float64
	eachCall(t, s, profile.CPU, func(call string, ns float64) { // where the one sleeps need not be where the other does
		all += ns
		if !known[call] {
			unknown += ns
			t.Logf("%v with %s, which no stop has shown", time.Duration(ns), call)
		}
	})
	t.Logf("%.1f %% of the calls were not seen by stops, of which %.1f %% was to be expected", 100*unknown/all, 100*once)
	chance := math.Sqrt(2 * once / float64(max(byStops.Cost().Stops, 1))) // the estimate's own error: on a busy machine there are few stops
	if unknown > (0.02+2*once+2*chance)*all {
		t.Errorf("%.2g of %.2g ns of calls were not seen by stops", unknown, all)
	}
	taken, whole, cut := endings(s)
	cost := s.Cost()
	t.Logf("%d rounds, %d stops (%d without timers), %d samples by timers, %d of them cut; %d of %d stacks whole %s; system stack %.0f %%",
		cost.Rounds, cost.Stops, byStops.Cost().Stops, cost.Ticks, cost.Cut, whole, taken, cut, 100*share(t, s, profile.Samples, "runtime.systemstack"))
	if cost.Ticks == 0 || cost.Cut*20 > cost.Ticks+100 || cost.Stops > 0 {
		t.Errorf("%d samples by timers, %d of them cut, %d stops", cost.Ticks, cost.Cut, cost.Stops)
	}
	for _, s := range []*Sampler{s, byStops} {
		checkCallers(t, s)
	}
}

// unseen estimates which share of all calls so few stops have not shown at all: it is that of the calls which they have
// shown once (Good and Turing).
func unseen(t *testing.T, s *Sampler) float64 {
	calls, all, once := make(map[string]float64), 0.0, 0.0
	eachCall(t, s, profile.CPU, func(call string, ns float64) { calls[call] += ns })
	for _, ns := range calls {
		if all += ns; ns < 1.5*float64(s.Profile().Total().CPU)/float64(max(s.Cost().Stops, 1)) {
			once += ns
		}
	}
	return once / max(all, 1)
}

// eachCall calls f for each caller and callee on the stacks of a profile, and how much of v is in it.
func eachCall(t *testing.T, s *Sampler, v profile.Value, f func(call string, n float64)) {
	for line := range strings.Lines(folded(t, s, v)) {
		i := strings.LastIndexByte(line, ' ')
		n := number(line[i+1:])
		funcs := strings.Split(line[:i], ";")
		for k := 1; k < len(funcs); k++ {
			f(funcs[k-1]+";"+funcs[k], n)
		}
	}
}

// checkCallers demands that the program's functions have been called as they are.
func checkCallers(t *testing.T, s *Sampler) {
	var wrong, all float64
	for line := range strings.Lines(folded(t, s, profile.Samples)) {
		i := strings.LastIndexByte(line, ' ')
		n := number(line[i+1:])
		all += n
		stack := ";" + line[:i]
		for _, chain := range []string{"main.work;main.outer;main.middle;main.inner;main.tree;", "main.work;main.outer;main.middle;main.inner;"} {
			last := strings.TrimSuffix(chain[strings.LastIndex(chain[:len(chain)-1], ";"):], ";")
			if strings.Contains(stack, last) && !strings.Contains(stack+";", ";"+chain) {
				wrong += n
				t.Logf("%v × %s", n, line[:i])
			}
		}
	}
	if wrong > all/200 {
		t.Errorf("%v of %v samples lack a caller", wrong, all)
	}
}
