package pctl

import (
	"fmt"
	"os"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// BenchmarkArming sets breakpoints one by one, removes them one by one, and lets the process go. It
// reports the three separately, in milliseconds. Letting go includes the wait for uprobes that are
// still being closed.
func BenchmarkArming(b *testing.B) {
	exe := ptest.BuildC(b, "places.c")
	for _, trap := range []Trap{TrapInt3, TrapAuto} {
		for _, breakpoints := range []int{1, 50, 1000} {
			for _, threads := range []int{1, 16, 200} {
				b.Run(fmt.Sprintf("%v/%d breakpoints/%d threads", trap, breakpoints, threads), func(b *testing.B) {
					if trap == TrapAuto && os.Geteuid() != 0 {
						b.Skip("uprobes are for root")
					}
					g := ptest.StartWith(b, &ptest.Options{Foreign: true}, exe, "-t", fmt.Sprint(threads))
					g.Ready()
					benchmarkArming(b, g.PID, trap, breakpoints)
				})
			}
		}
	}
}

func benchmarkArming(b *testing.B, pid int, trap Trap, n int) {
	s := session(b, nil)
	h := func(*Hit) {}
	var arm, lift, release time.Duration
	for b.Loop() {
		p, err := s.Grab(bg, pid, &GrabOptions{Trap: trap})
		if err != nil {
			b.Fatal(err)
		}
		first := p.space().ByName("", "places")
		if len(first) != 1 {
			b.Fatalf("places is at %v", first)
		}
		start := time.Now()
		all := make([]*Breakpoint, n)
		for i := range all {
			if all[i], err = p.Break(bg, Where{Addr: first[0].Addr + 3*uint64(i)}, h); err != nil {
				b.Fatal(err)
			}
		}
		armed := time.Now()
		for _, bp := range all {
			if err := bp.Remove(bg); err != nil {
				b.Fatal(err)
			}
		}
		lifted := time.Now()
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
		arm, lift, release = arm+armed.Sub(start), lift+lifted.Sub(armed), release+time.Since(lifted)
	}
	for unit, d := range map[string]time.Duration{"arm-ms": arm, "lift-ms": lift, "release-ms": release} {
		b.ReportMetric(d.Seconds()*1000/float64(b.N), unit)
	}
}
