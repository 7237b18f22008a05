package sample

import (
	"fmt"
	"math"
	"testing"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/source"
)

// The target has one function for three quarters of its time, and then another at the same place.
const (
	inPlaceFirst = 0.75
	inPlaceSlack = 0.15
)

func inPlace(t *testing.T, unit time.Duration) *ptest.Target {
	t.Helper()
	g := ptest.Start(t, ptest.BuildC(t, "testdata/inplace.c"), fmt.Sprint(unit.Microseconds()))
	g.Ready()
	return g
}

// checkInPlace compares the shares that n samples have found.
func checkInPlace(t *testing.T, first, second float64, n int64) {
	t.Helper()
	slack := max(inPlaceSlack, 5*math.Sqrt(inPlaceFirst*(1-inPlaceFirst)/float64(n)))
	if of := first / (first + second); !(math.Abs(of-inPlaceFirst) <= slack) {
		t.Errorf("%.1f %% in first, %.1f %% in second, by %d samples", 100*first, 100*second, n)
	}
}

// TestCodeInPlaceOfOther: code that is mapped where other code was is counted under its own name, and the other code still
// under its.
func TestCodeInPlaceOfOther(t *testing.T) {
	bothWays(t, func(t *testing.T, use UseTimers) {
		g := inPlace(t, time.Millisecond)
		s := sampleBy(t, use, int64(ptest.Rounds(500, 1500, 3000)), time.Second/499, nil, attach(t, g.PID, nil))
		checkInPlace(t, share(t, s, profile.CPU, "first"), share(t, s, profile.CPU, "second"), s.Cost().Ticks)
	})
}

// TestWindowOfCodeInPlaceOfOther is TestCodeInPlaceOfOther for windows.
func TestWindowOfCodeInPlaceOfOther(t *testing.T) {
	g := inPlace(t, time.Millisecond)
	w := openWindows(t, WindowsOptions{Period: time.Second / 499})
	n := begin(t, w, g.PID)
	for used, _ := source.ProcessorTime(g.PID); ; time.Sleep(10 * time.Millisecond) {
		if now, err := source.ProcessorTime(g.PID); err != nil || now-used > time.Second {
			break
		}
	}
	p, err := n.End()
	if err != nil {
		t.Fatal(err)
	}
	cpu := make(map[string]float64)
	for _, f := range p.Functions(&profile.Options{}) {
		cpu[f.Name] = float64(f.Total.CPU) / float64(p.CPU)
	}
	checkInPlace(t, cpu["first"], cpu["second"], 499) // of one second
}

// TestFollowedCodeInPlaceOfOther is TestCodeInPlaceOfOther for a process that is followed, looked at in rounds, and ends.
func TestFollowedCodeInPlaceOfOther(t *testing.T) {
	g := inPlace(t, time.Millisecond)
	begun := func() {
		used, _ := source.ProcessorTime(g.PID)
		go func() { // ends with the target
			for now := used; now-used < time.Second; now, _ = source.ProcessorTime(g.PID) {
				time.Sleep(10 * time.Millisecond)
			}
			g.Kill()
		}()
	}
	s := followed(t, perfevent.FollowAuto, g, begun)
	checkInPlace(t, share(t, s, profile.CPU, "first"), share(t, s, profile.CPU, "second"), s.Cost().Ticks)
}
