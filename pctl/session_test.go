package pctl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"testing"

	"ptools/internal/ptest"
)

// TestSharedGrab checks that independent clients do not disturb each other.
func TestSharedGrab(t *testing.T) {
	g, _ := startSpin(t)
	s := session(t, nil)
	first := grab(t, s, g.PID, nil)
	second := grab(t, s, g.PID, nil)
	reader := grab(t, s, g.PID, &GrabOptions{ReadOnly: true})
	if first == second || first.c != second.c {
		t.Errorf("two grabs share no control, or the reference itself")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if err := first.Pause(bg, func(*Snapshot) error { return nil }); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Pause of a closed Process: %v", err)
	}
	if g.TracerPID() == 0 {
		t.Fatal("let go although there is a reference to it")
	}
	if err := second.Pause(bg, func(s *Snapshot) error { return nil }); err != nil {
		t.Error(err)
	}
	second.Close()
	if g.TracerPID() == 0 {
		t.Error("let go although a reader shares the handle")
	}
	reader.Close()
	if by := g.TracerPID(); by != 0 {
		t.Errorf("still traced by %d", by)
	}
	g.AwaitWork(1)
}

// TestReadOnly checks that nothing is attached to and control is refused.
func TestReadOnly(t *testing.T) {
	g, _ := startSpin(t)
	s := session(t, nil)
	p := grab(t, s, g.PID, &GrabOptions{ReadOnly: true})
	if by := g.TracerPID(); by != 0 {
		t.Fatalf("traced by %d", by)
	}
	tids, err := p.Threads()
	if err != nil || len(tids) != 3 {
		t.Errorf("threads %v, %v", tids, err)
	}
	maps, err := p.Maps()
	if err != nil || len(maps) == 0 {
		t.Fatalf("%d maps, %v", len(maps), err)
	}
	magic := make([]byte, 4)
	if _, err := p.ReadAt(magic, int64(maps[0].Start)); err != nil || string(magic) != "\x7fELF" {
		t.Errorf("the first mapping begins with %q, %v", magic, err)
	}
	_, brk := p.Break(bg, Where{Symbol: "main"}, nil)
	_, wr := p.WriteAt(magic, int64(maps[0].Start))
	for op, err := range map[string]error{
		"pause": p.Pause(bg, nil), "continue": p.Continue(bg), "release": p.Release(bg), "break": brk, "write": wr,
	} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v", op, err)
		}
	}
	// Its end is reported once.
	events := p.Events(nil)
	g.Kill()
	if e, err := events.Next(bg); err != nil || e.Kind != KindUndead || e.PID != g.PID {
		t.Errorf("event %+v, %v", e, err)
	}
	if _, err := events.Next(bg); err == nil {
		t.Error("a second end")
	}
}

// TestUpgrade checks that control supersedes a read-only handle, whose
// holders continue undisturbed.
func TestUpgrade(t *testing.T) {
	g, _ := startSpin(t)
	s := session(t, nil)
	reader := grab(t, s, g.PID, &GrabOptions{ReadOnly: true})
	owner := grab(t, s, g.PID, nil)
	if g.TracerPID() == 0 {
		t.Fatal("not controlled")
	}
	if _, err := reader.Threads(); err != nil {
		t.Error(err)
	}
	reader.Close()
	if g.TracerPID() == 0 {
		t.Fatal("releasing the stale handle released its successor")
	}
	owner.Close()
	g.AwaitWork(1)
}

// TestReleaseEndsControlForAll: the other holders get the event of the release.
func TestReleaseEndsControlForAll(t *testing.T) {
	g, _ := startSpin(t)
	s := session(t, nil)
	a, b := grab(t, s, g.PID, nil), grab(t, s, g.PID, nil)
	events := b.Events(nil)
	for range 2 {
		if err := a.Release(bg); err != nil {
			t.Fatal(err)
		}
	}
	if by := g.TracerPID(); by != 0 {
		t.Errorf("still traced by %d", by)
	}
	var last Event
	for e, err := range events.All(bg) {
		if err != nil {
			t.Fatal(err)
		}
		last = e
	}
	if last.Kind != KindReleased {
		t.Errorf("the last event is %+v", last)
	}
	<-b.Done()
	if err := b.Pause(bg, nil); !errors.Is(err, ErrReleased) {
		t.Errorf("Pause: %v", err)
	}
	// The process can be grabbed again although a holds a reference.
	c := grab(t, s, g.PID, nil)
	if g.TracerPID() == 0 {
		t.Error("the new grab controls nothing")
	}
	c.Close()
	a.Close()
	b.Close()
}

// TestOwnChildKeepsItsStatus: the exit status of a child that the host
// program has started is left to the host. Both the host and the stream get
// it.
func TestOwnChildKeepsItsStatus(t *testing.T) {
	s := session(t, nil)
	for code := range 8 {
		cmd := exec.Command("sh", "-c", fmt.Sprintf("read x; exit %d", code))
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p := grab(t, s, cmd.Process.Pid, nil)
		stdin.Close()
		if e, err := p.Wait(bg); err != nil || e.Kind != KindUndead || !e.Exited || e.Code != code {
			t.Errorf("told %+v, %v; want status %d", e, err, code)
		}
		p.Close()
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("the host sees status %d, want %d", got, code)
		}
	}
}

// TestHostsChildren: a host that runs its own commands loses none of them to
// the processes it grabs.
func TestHostsChildren(t *testing.T) {
	commands, grabs := 400, 200
	if testing.Short() {
		commands, grabs = 40, 20
	}
	g, _ := startSpin(t)
	s := session(t, nil)
	var wg sync.WaitGroup
	next := make(chan int)
	for range 8 {
		wg.Go(func() {
			for range next {
				if err := exec.Command("true").Run(); err != nil {
					t.Errorf("a command of the host: %v", err)
				}
			}
		})
	}
	wg.Go(func() {
		for range grabs {
			p, err := s.Grab(bg, g.PID, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range commands {
		next <- i
	}
	close(next)
	wg.Wait()
	g.AwaitWork(1)
}

// TestManyProcesses controls many processes at once from several goroutines.
func TestManyProcesses(t *testing.T) {
	const processes = 64
	pids := make([]int, processes)
	for i := range pids {
		pids[i] = ptest.Start(t, "sleep", "1000").PID
	}
	s := session(t, nil)
	for range ptest.Rounds(3, 20, 100) {
		var wg sync.WaitGroup
		for half := range 2 {
			for _, pid := range pids {
				wg.Go(func() {
					p, err := s.Grab(bg, pid, &GrabOptions{Stop: []Point{PointGrab}})
					if err != nil {
						t.Error(err)
						return
					}
					defer p.Close()
					if err := p.Pause(bg, func(s *Snapshot) error {
						if len(s.Threads()) != 1 {
							return fmt.Errorf("%d threads", len(s.Threads()))
						}
						return nil
					}); err != nil {
						t.Error(err)
					}
					// The other half has grabbed the same process; one of the two continues
					// it.
					if err := p.Continue(bg); err != nil && !errors.Is(err, ErrNotHeld) {
						t.Error(half, err)
					}
				})
			}
		}
		wg.Wait()
	}
}

// TestSessionClose releases everything and refuses what comes later.
func TestSessionClose(t *testing.T) {
	g, _ := startSpin(t)
	s := NewSession(nil)
	p := grab(t, s, g.PID, &GrabOptions{Stop: []Point{PointGrab}})
	events := p.Events(nil)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if by := g.TracerPID(); by != 0 {
		t.Errorf("still traced by %d", by)
	}
	g.AwaitWork(1)
	if _, err := events.Next(bg); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Next: %v", err)
	}
	if _, err := s.Grab(bg, g.PID, nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Grab: %v", err)
	}
	if _, err := s.Create(bg, &Command{Path: "/bin/true"}, nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Create: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestCreateErrors(t *testing.T) {
	s := session(t, nil)
	for path, want := range map[string]error{
		"/no/such/program": fs.ErrNotExist,
		"/etc/passwd":      fs.ErrPermission,
		"/":                fs.ErrPermission,
	} {
		if _, err := s.Create(bg, &Command{Path: path}, nil); !errors.Is(err, want) {
			t.Errorf("Create(%s): %v, want %v", path, err, want)
		}
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if _, err := s.Create(ctx, &Command{Path: "/bin/true"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Create after the end of its context: %v", err)
	}
	if _, err := s.Grab(ctx, os.Getppid(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Grab after the end of its context: %v", err)
	}
}

// TestTwoSessions: if two tracers want the same process, the error of one names the other,
// however short the time that either holds the process.
func TestTwoSessions(t *testing.T) {
	g, _ := startSpin(t)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			s := NewSession(nil)
			defer s.Close()
			for range ptest.Rounds(200, 1000, 20000) {
				p, err := s.Grab(bg, g.PID, nil)
				switch {
				case err == nil:
					err = p.Close()
				case errors.Is(err, ErrTraced):
					err = nil
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	g.AwaitWork(1)
}
