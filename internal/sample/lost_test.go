package sample

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/source"
)

// phased is a program that burns in one function after the other.
type phased struct {
	t   *testing.T
	g   *ptest.Target
	pid int
}

func startPhases(t *testing.T, args ...string) *phased {
	t.Helper()
	needTimers(t)
	g := ptest.Start(t, append([]string{ptest.BuildC(t, "testdata/phases.c", "-pthread")}, args...)...)
	p := &phased{t: t, g: g}
	if _, err := fmt.Sscan(g.Line(), &p.pid); err != nil {
		t.Fatal(err)
	}
	return p
}

// next lets it burn in the next function, and waits until it has.
func (p *phased) next() {
	io.WriteString(p.g.Stdin, "\n")
	p.g.Line()
}

// check compares the processor time with what the program says. Of a second that was used while the buffers were not read, most
// is [not sampled]: they hold a quarter of a second of two processors. On a busy machine more may be.
func (p *phased) check(prof *profile.Profile, cost *Cost) {
	t := p.t
	t.Helper()
	var spent [3]float64
	for i := range spent {
		if _, err := fmt.Sscan(p.g.Line(), &spent[i]); err != nil {
			t.Fatal(err)
		}
	}
	of := make(map[string]float64)
	for _, f := range prof.Functions(&profile.Options{}) {
		of[f.Name] += float64(f.Self.CPU)
	}
	for i, name := range []string{"alpha", "beta", "gamma_"} {
		if of[name] > 1.1*spent[i] {
			t.Errorf("%s has %v of processor time, not %v", name, time.Duration(of[name]), time.Duration(spent[i]))
		}
	}
	all := spent[0] + spent[1] + spent[2]
	if sum := float64(prof.Total().CPU); math.Abs(sum-all) > 0.1*all {
		t.Errorf("%v of processor time, not %v", time.Duration(sum), time.Duration(all))
	}
	lost := of["[not sampled]"]
	if lost < 0.5*spent[1] {
		t.Errorf("%v of %v are not sampled", time.Duration(lost), time.Duration(spent[1]))
	}
	if cost != nil && (math.Abs(float64(cost.LostTime)-lost) > 0.1*all || !strings.Contains(cost.String(), " of processor time [not sampled] (")) {
		t.Errorf("%v are not sampled; the line says: %v", time.Duration(lost), cost)
	}
	if t.Failed() {
		t.Log(of, spent)
	}
}

// sample samples the program until it ends. The sampler stands while the program burns in beta.
func (p *phased) sample(ticks Ticks, o Options) *Sampler {
	t := p.t
	t.Helper()
	files, done := openFiles(t), make(chan struct{})
	fd, err := procfs.OpenPIDFD(p.pid)
	if err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process
		defer close(done)
		fd.Wait(context.Background())
		fd.Close()
	}()
	stall, stalled := make(chan struct{}), make(chan struct{})
	begin := func() { // ends with the program
		p.next()
		close(stall)
		<-stalled
		p.next()
		io.WriteString(p.g.Stdin, "\n")
	}
	o.Period, o.For, o.Ticks = tick, 5*time.Minute, ticks
	o.Begun = func(context.Context) error { go begin(); return nil }
	o.Progress = func(*Progress) {
		select {
		case <-stall:
			p.next()
			close(stalled)
			stall = nil
		default:
		}
	}
	if o.Follow != nil {
		o.Follow.Files = files
		o.Follow.Source = func(pid int, done <-chan struct{}) *source.Process { return source.Watch(pid, done, files, false) }
	}
	s := New([]*source.Process{source.Watch(p.pid, done, files, false)}, &o)
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// largeTicks returns timers whose buffers are soon full.
func (p *phased) largeTicks(follow perfevent.Follow) *perfevent.Ticker {
	p.t.Helper()
	ticks, err := perfevent.OpenTicker(perfevent.TickerOptions{Period: tick, Stack: perfevent.MaxStack, Follow: follow})
	if err != nil {
		p.t.Skip(err)
	}
	p.t.Cleanup(func() { ticks.Close() })
	if err := ticks.Want(p.pid); err != nil {
		p.t.Fatal(err)
	}
	return ticks
}

// TestLostTicks: a sampler that stands for a while knows nothing of that time. It is not given to what the program does
// before and afterwards.
func TestLostTicks(t *testing.T) {
	p := startPhases(t)
	s := p.sample(p.largeTicks(perfevent.FollowNone), Options{})
	p.check(s.Profile(), s.Cost())
}

// TestLostTicksOfChildren is TestLostTicks for the children of a process.
func TestLostTicksOfChildren(t *testing.T) {
	p := startPhases(t, "-f")
	s := p.sample(p.largeTicks(perfevent.FollowAuto), Options{Follow: &Follow{}})
	p.check(s.Profile(), s.Cost())
}

// TestLostTicksOfWindows is TestLostTicks for a window.
func TestLostTicksOfWindows(t *testing.T) {
	p := startPhases(t)
	w := openWindows(t, WindowsOptions{Period: tick})
	n := begin(t, w, p.pid)
	p.next()
	w.mu.Lock()
	p.next()
	w.mu.Unlock()
	p.next()
	io.WriteString(p.g.Stdin, "\n")
	prof, err := n.End()
	if err != nil {
		t.Fatal(err)
	}
	p.check(prof, nil)
}
