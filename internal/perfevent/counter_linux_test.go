package perfevent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestCounter: threads that did not exist when counting began are counted too, and
// several probes may be at one instruction.
func TestCounter(t *testing.T) {
	p := startProbed(t)
	p.call("5")
	a := p.counter()
	p.call("1000")
	b := p.counter()
	if n := p.call("t234"); n != 0 {
		t.Errorf("%d signals from counting", n)
	}
	if na, nb := a.Count(), b.Count(); na != 1234 || nb != 234 {
		t.Errorf("counted %d and %d, want 1234 and 234", na, nb)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	p.call("10")
	if n := b.Count(); n != 244 {
		t.Errorf("counted %d after the other was closed, want 244", n)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOtherMapping: hits at another address, where the file might be mapped once more,
// are not counted, unless they are to be counted everywhere.
func TestOtherMapping(t *testing.T) {
	p := startProbed(t)
	c, err := OpenCounter(p.PID, p.PID, p.path, p.off, p.addr+1<<20)
	p.available(err)
	defer c.Close()
	everywhere, err := OpenCounter(p.PID, p.PID, p.path, p.off, 0)
	p.available(err)
	defer everywhere.Close()
	p.call("10")
	if n, all := c.Count(), everywhere.Count(); n != 0 || all != 10 {
		t.Errorf("counted %d arrivals at another address, and %d of 10 everywhere", n, all)
	}
}

func TestProbeErrors(t *testing.T) {
	p := startProbed(t)
	p.counter().Close()
	for _, c := range []struct {
		name string
		path string
		pid  int
		off  uint64
		want error
	}{
		{"no process", p.path, 1 << 22, p.off, syscall.ESRCH},
		{"no file", "/nonexistent", p.PID, p.off, fs.ErrNotExist},
		{"zero byte in path", "a\x00b", p.PID, p.off, syscall.EINVAL},
	} {
		got, err := OpenCounter(c.pid, c.pid, c.path, c.off, p.addr)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if err == nil {
			got.Close()
		}
	}
}

// TestRedZone: the kernel replaces a probed nop of five bytes by a call (arch/x86/kernel/uprobes.c, Linux 6.18).
// The call writes below the stack pointer, where the x86-64 ABI lets a function keep its data. The kernel chooses
// from which hit on it does so.
func TestRedZone(t *testing.T) {
	p := startAt(t, ptest.BuildC(t, "testdata/redzone.c", "-no-pie"), "probed_nop")
	if n := p.call("1000"); n != 0 {
		t.Fatalf("%d words lost without a probe", n)
	}
	c := p.counter()
	lost := p.call("1000")
	if n := c.Count(); n != 1000 {
		t.Errorf("%d arrivals, want 1000", n)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if lost == 0 { // before Linux 6.18, or not supported by the processor or the configuration
		t.Log("no word was lost: this kernel leaves such nops as they are")
	}
	if n := p.call("1000"); n != 0 {
		t.Errorf("%d words lost when the probe was closed", n)
	}
}

// TestCloser: a closed counter does not count any more, and the text is that of the file again.
func TestCloser(t *testing.T) {
	p := startProbed(t)
	c := NewCloser()
	for range 5 {
		c.Close(p.counter())
	}
	<-c.Close(p.counter())
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	ptest.TextIntact(t, p.PID)
	c.Close(failing{})
	if err := c.Wait(); err != errFailing {
		t.Errorf("Wait = %v", err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("second Wait = %v", err)
	}
}

var errFailing = errors.New("failing")

type failing struct{}

func (failing) Close() error { return errFailing }

func TestNoUprobesIsUnsupported(t *testing.T) {
	if !errors.Is(fmt.Errorf("open: %w", ErrNoUprobes), errors.ErrUnsupported) {
		t.Error("ErrNoUprobes is not an errors.ErrUnsupported")
	}
}

// BenchmarkHit measures the cost of a hit that is only counted.
func BenchmarkHit(b *testing.B) {
	b.Run("none", func(b *testing.B) {
		p := startProbed(b)
		b.ResetTimer()
		p.call(fmt.Sprint(b.N))
	})
	b.Run("counter", func(b *testing.B) {
		p := startProbed(b)
		c := p.counter()
		b.ResetTimer()
		p.call(fmt.Sprint(b.N))
		b.StopTimer()
		c.Close()
	})
}

// TestEventOfThread: the probe that is a perf event has hits as long as the thread lives that it was opened for. One that is
// opened for another thread has them when the first has ended.
func TestEventOfThread(t *testing.T) {
	p := startProbed(t)
	first := p.counter()
	defer first.Close()
	if !EndWithThread() {
		t.Skip("probes are links here; PTOOLS_PROBES=events")
	}
	const n = 100
	p.call(strconv.Itoa(n))
	if _, err := io.WriteString(p.Stdin, "l\n"); err != nil {
		t.Fatal(err)
	}
	p.WaitFor("the end of the first thread", func() bool {
		c, err := OpenCounter(p.PID, p.PID, p.path, p.off, p.addr)
		if err == nil {
			c.Close()
		}
		return errors.Is(err, ErrThreadEnded)
	})
	tids := p.Threads()
	second, err := OpenCounter(p.PID, tids[len(tids)-1], p.path, p.off, p.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	p.call(strconv.Itoa(n))
	if first.Count() != n || second.Count() != n {
		t.Errorf("%d and %d hits, want %d each", first.Count(), second.Count(), n)
	}
}

// TestWatchThread: a first thread that ends before the others is seen to end, and its event is opened no more.
func TestWatchThread(t *testing.T) {
	p := startProbed(t)
	w, err := WatchThread(p.PID)
	p.available(err)
	defer w.Close()
	closed, err := WatchThread(p.PID)
	p.available(err)
	ended := make(chan bool, 2)
	go func() { ended <- closed.Wait() }() // ends by Close
	if err := closed.Close(); err != nil || <-ended {
		t.Errorf("%v, or the thread has ended", err)
	}
	go func() { ended <- w.Wait() }() // ends with the thread
	p.call("10")
	select {
	case <-ended:
		t.Fatal("ended too early")
	default:
	}
	if _, err := io.WriteString(p.Stdin, "l\n"); err != nil {
		t.Fatal(err)
	}
	if !<-ended {
		t.Error("closed")
	}
	if _, err := WatchThread(p.PID); !errors.Is(err, ErrThreadEnded) {
		t.Errorf("%v, want %v", err, ErrThreadEnded)
	}
	p.call("10") // another thread answers
}
