package perfevent

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

// signals makes Signals of SIGTRAP, which the target counts.
func (p *probed) signals() *Signals {
	p.t.Helper()
	s, err := NewSignals(p.PID, syscall.SIGTRAP)
	p.available(err)
	p.t.Cleanup(func() { s.Close() })
	return s
}

func (p *probed) link(s *Signals, after uint64) *Link {
	p.t.Helper()
	l, err := s.Probe(p.path, p.off+after, p.addr+after)
	if err != nil {
		p.t.Fatal(err)
	}
	return l
}

// TestSignals: each hit is one signal, in every thread. The registers of the last hit
// are those before the instruction.
func TestSignals(t *testing.T) {
	p := startProbed(t)
	s := p.signals()
	second, first := p.link(s, 4), p.link(s, 0)
	const calls = 500
	var h Hit
	if s.Take(p.PID, &h) {
		t.Error("a hit before any call")
	}
	for _, line := range []string{"500", "t500"} {
		if n := p.call(line); n != 2*calls {
			t.Errorf("%s calls over two probes: %d signals, want %d", line, n, 2*calls)
		}
	}
	if !s.Take(p.PID, &h) {
		t.Fatal("no hit")
	}
	const rip = 16
	if h.Count != 2*calls || h.Regs[rip] != p.addr+4 {
		t.Errorf("last hit has count %d, at %#x; want %d, %#x", h.Count, h.Regs[rip], 2*calls, p.addr+4)
	}
	s.Switch(false)
	if n := p.call("10"); n != 0 {
		t.Errorf("%d signals while switched off", n)
	}
	s.Switch(true)
	if n := p.call("10"); n != 20 {
		t.Errorf("%d signals when switched on again, want 20", n)
	}
	s.Forget(p.PID)
	if s.Take(p.PID, &h) {
		t.Error("a forgotten hit")
	}
	for _, l := range []*Link{first, second} {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.call("10"); n != 0 {
		t.Errorf("%d signals after Close", n)
	}
}

// TestSwitchOfLink: two probes at one instruction are switched separately, as when one is being closed and another
// has been opened. No probe works after the Signals are closed.
func TestSwitchOfLink(t *testing.T) {
	p := startProbed(t)
	s := p.signals()
	old, now := p.link(s, 0), p.link(s, 0)
	arrivals := func() uint64 {
		var h Hit
		s.Take(p.PID, &h)
		return h.Count
	}
	old.Switch(false)
	p.call("10")
	if n := arrivals(); n != 10 {
		t.Errorf("%d arrivals, want 10", n)
	}
	old.Switch(true)
	p.call("10")
	if n := arrivals(); n != 30 {
		t.Errorf("%d arrivals with both, want 30", n)
	}
	old.Switch(false)
	now.Switch(false)
	if n := p.call("10"); n != 0 {
		t.Errorf("%d signals", n)
	}
	s.Close()
	now.Switch(true)
	if n := p.call("10"); n != 0 {
		t.Errorf("%d signals after the end", n)
	}
	for _, l := range []*Link{old, now} {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLoadUnderSignals: programs are loaded although the kernel gives up the check of a program when a
// signal is pending for the thread.
func TestLoadUnderSignals(t *testing.T) {
	p := startProbed(t)
	p.signals()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, tid := os.Getpid(), unix.Gettid()
	done := make(chan struct{})
	var sender sync.WaitGroup
	sender.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				unix.Tgkill(pid, tid, unix.SIGURG) // the runtime's own, which it expects
			}
		}
	})
	for range ptest.Rounds(10, 200, 1000) {
		s, err := NewSignals(p.PID, syscall.SIGTRAP)
		if err != nil {
			t.Error(err)
			break
		}
		s.Close()
	}
	close(done)
	sender.Wait()
}

func BenchmarkTake(b *testing.B) {
	p := startProbed(b)
	s := p.signals()
	var h Hit
	b.ReportAllocs()
	for b.Loop() {
		s.Take(p.PID, &h)
	}
}

// BenchmarkClose closes some probes at the same time.
func BenchmarkClose(b *testing.B) {
	for _, n := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := startProbed(b)
			s := p.signals()
			c := NewCloser()
			for b.Loop() {
				b.StopTimer()
				var all []*Link
				for range n {
					all = append(all, p.link(s, 0))
				}
				b.StartTimer()
				for _, l := range all {
					c.Close(l)
				}
				c.Wait()
			}
		})
	}
}
