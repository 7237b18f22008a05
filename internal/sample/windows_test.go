package sample

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"testing"
	"time"

	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/source"
)

// heavy is an image whose names are not found before open is closed.
type heavy struct {
	source.Image
	asked func()
	open  chan struct{}
}

func (h *heavy) Prepare(a profile.Addr) {
	h.asked()
	<-h.open
	h.Image.(preparer).Prepare(a)
}

// openWindows opens Windows for a test. It skips the test where timers are not permitted.
func openWindows(t *testing.T, o WindowsOptions) *Windows {
	t.Helper()
	o.Files = source.NewFiles()
	t.Cleanup(o.Files.Close)
	w, err := OpenWindows(o)
	if errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// heavyWindows returns Windows with a heavy image of one process, and a patience for names. asked is closed when names of
// it are looked up.
func heavyWindows(t *testing.T, pid int, patience time.Duration) (w *Windows, asked, open chan struct{}) {
	t.Helper()
	w = openWindows(t, WindowsOptions{Period: time.Second / 499, Lines: true, Patience: patience})
	asked, open = make(chan struct{}), make(chan struct{})
	tell := sync.OnceFunc(func() { close(asked) })
	native := w.open
	w.open = func(of int) (source.Image, error) {
		image, err := native(of)
		if err != nil || of != pid {
			return image, err
		}
		return &heavy{image, tell, open}, nil
	}
	t.Cleanup(func() {
		select {
		case <-open:
		default:
			close(open)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, asked, open
}

func begin(t *testing.T, w *Windows, pid int) *Window {
	t.Helper()
	n, err := w.Begin(pid)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// soon fails if f waits for something that does not come. Its limit is long enough for a busy machine.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s waits for names", what)
	}
}

func hasFunction(p *profile.Profile, name string) bool {
	for _, f := range p.Functions(&profile.Options{}) {
		if f.Name == name {
			return true
		}
	}
	return false
}

// TestHeavySymbols: while the symbols of one process are being read, others are served, and its own clients get the names
// that are known. A client of it that goes away does not wait. The next one gets the names.
func TestHeavySymbols(t *testing.T) {
	mix := ptest.BuildC(t, "mix.c")
	a, b := ptest.Start(t, mix, "-n", "1000000", "-u", "200"), ptest.Start(t, mix, "-n", "1000000", "-u", "200")
	w, asked, open := heavyWindows(t, a.PID, 700*time.Millisecond)
	first, second := begin(t, w, a.PID), begin(t, w, a.PID)
	<-asked
	soon(t, "another process", func() {
		awaitMain(t, w, b.PID)
	})
	soon(t, "the end of a window", func() {
		p, err := first.End()
		if err != nil || p.Total().CPU == 0 || hasFunction(p, "main") {
			t.Errorf("%v, %v", err, p.Total())
		}
	})
	soon(t, "cancelling the last window", second.Cancel)
	close(open)
	soon(t, "the first process", func() { awaitMain(t, w, a.PID) })
}

// awaitMain takes profiles until one has names: the first may end before they are read.
func awaitMain(t *testing.T, w *Windows, pid int) {
	for {
		n, err := w.Begin(pid)
		if err != nil {
			t.Error(err)
			return
		}
		time.Sleep(100 * time.Millisecond)
		if p, err := n.End(); err != nil || hasFunction(p, "main") {
			if err != nil {
				t.Error(err)
			}
			return
		}
	}
}

// TestHeavyExec: a process executes other programs while the symbols of the first are being read. No client waits for
// that. The profile has all that was counted, and in the end its names.
func TestHeavyExec(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "testdata/spinexec.c"))
	w, asked, open := heavyWindows(t, g.PID, time.Minute)
	n, beside := begin(t, w, g.PID), begin(t, w, os.Getpid())
	<-asked
	soon(t, "another process", func() {
		for {
			time.Sleep(50 * time.Millisecond)
			former := make(chan int)
			w.mu.Lock()
			of := w.processes[g.PID]
			of.do(func() { former <- len(of.former) })
			w.mu.Unlock()
			if <-former > 2 {
				break
			}
		}
		if _, err := beside.End(); err != nil {
			t.Error(err)
		}
	})
	close(open)
	g.Kill()
	p, err := n.End()
	if err != nil || !hasFunction(p, "spin") {
		t.Errorf("%v", err)
	}
	if p.Total().CPU < int64(p.CPU)*9/10 {
		t.Errorf("%v counted, %v used", time.Duration(p.Total().CPU), p.CPU)
	}
}

// TestSilentProcess: nothing of a process can be opened. It gets no stacks, and keeps nobody waiting: not the clients of
// other processes, nor those that read the costs, nor the end.
func TestSilentProcess(t *testing.T) {
	mix := ptest.BuildC(t, "mix.c")
	a, b := ptest.Start(t, mix, "-n", "1000000", "-u", "200"), ptest.Start(t, mix, "-n", "1000000", "-u", "200")
	w, _, open := heavyWindows(t, b.PID, 700*time.Millisecond)
	close(open)
	native, asked, answer := w.open, make(chan struct{}, 100), make(chan struct{})
	defer close(answer)
	w.open = func(pid int) (source.Image, error) {
		if pid == a.PID {
			asked <- struct{}{}
			<-answer
		}
		return native(pid)
	}
	silent := begin(t, w, a.PID)
	<-asked
	soon(t, "another process", func() { awaitMain(t, w, b.PID) })
	soon(t, "the costs", func() {
		if n := w.Processes(); n == 0 || w.Cost().Ticks == 0 {
			t.Errorf("%d processes, %+v", n, w.Cost())
		}
	})
	next, err := silent.Next()
	if err != nil {
		t.Fatal(err)
	}
	soon(t, "the end of a window", func() {
		p, err := silent.End()
		if !errors.Is(err, errBehind) || p.CPU == 0 {
			t.Errorf("%v, %v used", err, p.CPU)
		}
	})
	next.Cancel()
	soon(t, "the end", func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}
