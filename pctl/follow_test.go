package pctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
)

// kin collects the events of the processes of a tree.
type kin struct {
	wg      sync.WaitGroup
	stopped chan *Process // at a rendezvous

	mu     sync.Mutex
	procs  []*Process // in the order of their beginnings
	events map[int][]Event
	hits   map[string]uint64
}

func newKin() *kin {
	return &kin{stopped: make(chan *Process, 100), events: map[int][]Event{}, hits: map[string]uint64{}}
}

// begin is a Follow.Begin: it reads all events of a process to its end, and closes it.
func (k *kin) begin(p *Process) {
	k.mu.Lock()
	k.procs = append(k.procs, p)
	k.mu.Unlock()
	events := p.Events(nil)
	k.wg.Go(func() {
		for e, err := range events.All(context.Background()) {
			if err != nil {
				break
			}
			k.mu.Lock()
			k.events[p.PID()] = append(k.events[p.PID()], e)
			k.mu.Unlock()
			if e.Kind == KindStopped {
				k.stopped <- p
			}
		}
		k.mu.Lock()
		for _, b := range p.Breakpoints() {
			k.hits[b.Where().String()] += b.Hits()
		}
		k.mu.Unlock()
		p.Close()
	})
}

// kinds returns the kinds of events of each process, in one line.
func (k *kin) kinds() (all []string) {
	k.wg.Wait()
	for _, p := range k.procs {
		var kinds []string
		for _, e := range k.events[p.PID()] {
			if e.Kind != KindLoaded && e.Kind != KindUnloaded && e.Kind != KindSignal {
				kinds = append(kinds, e.Kind.String())
			}
		}
		all = append(all, strings.Join(kinds, " "))
	}
	return all
}

// follow runs a shell's command line and follows it, with a breakpoint.
func (k *kin) follow(t *testing.T, script string, mode Mode, trap Trap, f Follow, h Handler) {
	t.Helper()
	s := NewSession(nil)
	t.Cleanup(func() { s.Close() })
	f.Begin = k.begin
	p, err := s.Create(t.Context(), &Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}},
		&CreateOptions{Stop: []Point{PointCreate}, Release: mode, Trap: trap, Follow: &f})
	if err != nil {
		t.Fatal(err)
	}
	k.begin(p)
	if _, err := p.Break(t.Context(), Where{Symbol: "_exit"}, h); err != nil {
		t.Fatal(err)
	}
	if err := p.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// family is a shell that forks and vforks, and whose child does so too.
const family = "(exit 3); /bin/true; (/bin/true; exit 4); :"

// TestFollow: a shell, its forked children and the programs that those execute are each a Process, from beginning to
// end. They have the breakpoint of the shell, whatever its kind.
func TestFollow(t *testing.T) {
	for _, mode := range []Mode{ModeRun, ModeKill} {
		for _, trap := range []Trap{TrapAuto, TrapInt3} {
			t.Run(mode.String()+" "+trap.String(), func(t *testing.T) {
				k := newKin()
				k.follow(t, family, mode, trap, Follow{}, func(*Hit) {})
				want := []string{
					"created stopped continued fork vfork fork hit undead",
					"followed hit undead",
					"followed exec hit undead",
					"followed vfork hit undead",
					"followed exec hit undead",
				}
				if got := k.kinds(); !slices.Equal(got, want) {
					t.Errorf("%q", got)
				}
				if want := map[string]uint64{"_exit": 5}; !maps.Equal(k.hits, want) {
					t.Errorf("hits %v", k.hits)
				}
				parents := []int{0, 0, 0, 0, 3}
				codes := []int{0, 3, 0, 4, 0}
				for i, p := range k.procs {
					all := k.events[p.PID()]
					if parent := k.procs[parents[i]].PID(); i > 0 && all[0].Parent != parent {
						t.Errorf("process %d: its parent is %d, want %d", i, all[0].Parent, parent)
					}
					if end := all[len(all)-1]; end.Code != codes[i] || !end.Exited {
						t.Errorf("process %d: %v", i, end)
					}
				}
			})
		}
	}
}

// TestFollowSome: a process that is not followed runs on untraced, with clean text. If that is not by choice, its
// parent's events say so.
func TestFollowSome(t *testing.T) {
	for _, tt := range []struct {
		name       string
		follow     Follow
		procs      int
		unfollowed int
	}{
		{"depth", Follow{Which: func(b Birth) bool { return b.Depth < 2 }}, 4, 0},
		{"executing", Follow{Which: func(b Birth) bool { return b.Executes }}, 2, 0},
		{"command", Follow{Which: func(b Birth) bool { return b.Command == "sh" }}, 3, 0},
		{"limit", Follow{Limit: 2}, 4, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKin()
			k.follow(t, family, ModeRun, TrapInt3, tt.follow, nil)
			lines := strings.Join(k.kinds(), "\n")
			if n := strings.Count(lines, "unfollowed"); len(k.procs) != tt.procs || n != tt.unfollowed {
				t.Errorf("%d processes, %d not followed:\n%s", len(k.procs), n, lines)
			}
			if end := k.events[k.procs[0].PID()]; end[len(end)-1].Code != 0 {
				t.Errorf("the shell: %v", end[len(end)-1])
			}
		})
	}
}

// TestFollowByCommand: a process that executes an unwanted program is released in front of its first instruction, with
// the breakpoints of its parent or without, whichever thread has forked it. Its children are not followed, and it runs as
// it does alone.
func TestFollowByCommand(t *testing.T) {
	const script = `(exec grep TracerPid /proc/self/status); (exec sh -c 'grep TracerPid /proc/self/status; (exit 7)'); exit $?`
	for _, trap := range []Trap{TrapAuto, TrapInt3} {
		t.Run(trap.String(), func(t *testing.T) {
			k := newKin()
			s := NewSession(nil)
			defer s.Close()
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			var asked []string
			f := &Follow{Begin: k.begin, Which: func(b Birth) bool {
				asked = append(asked, fmt.Sprint(b.Command, " ", b.Executes, " ", b.Depth))
				return b.Command != "grep" && (b.Command != "sh" || !b.Executes)
			}}
			p, err := s.Create(t.Context(), &Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Files: []*os.File{os.Stdin, write, os.Stderr}},
				&CreateOptions{Stop: []Point{PointCreate}, Release: ModeRun, Trap: trap, Follow: f})
			write.Close()
			if err != nil {
				t.Fatal(err)
			}
			k.begin(p)
			if _, err := p.Break(t.Context(), Where{Symbol: "write"}, func(*Hit) {}); err != nil {
				t.Fatal(err)
			}
			if err := p.Continue(t.Context()); err != nil {
				t.Fatal(err)
			}
			out, err := io.ReadAll(read)
			if got, want := string(out), "TracerPid:\t0\nTracerPid:\t0\n"; got != want || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			want := []string{"created stopped continued fork fork undead", "followed released", "followed released"}
			if got := k.kinds(); !slices.Equal(got, want) {
				t.Errorf("%q", got)
			}
			if all := k.events[p.PID()]; all[len(all)-1].Code != 7 {
				t.Errorf("the shell: %v", all[len(all)-1])
			}
			if want := []string{"sh false 1", "grep true 1", "sh false 1", "sh true 1"}; !slices.Equal(asked, want) {
				t.Errorf("asked %q", asked)
			}
		})
	}
}

// TestFollowPresent: a grab takes control of the present descendants. After the release they run on, each by
// itself, the parent first.
func TestFollowPresent(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, "/bin/sh", "-c", "sleep 1000 & (sleep 1000 & exec sleep 1000) & echo ready; read line; wait")
	for g.Line() != "ready" {
	}
	g.WaitFor("its grandchildren", func() bool { return len(kinOf(g.PID)) >= 4 })
	s := NewSession(nil)
	defer s.Close()
	k := newKin()
	p, err := s.Grab(t.Context(), g.PID, &GrabOptions{Stop: []Point{PointGrab}, Follow: &Follow{Begin: k.begin}})
	if err != nil {
		t.Fatal(err)
	}
	k.begin(p)
	if len(k.procs) != len(kinOf(g.PID)) {
		t.Errorf("%d processes are followed, want %v", len(k.procs), kinOf(g.PID))
	}
	for i, p := range k.procs {
		if at, held := p.Held(); at != PointGrab || !held {
			t.Errorf("process %d is not held", p.PID())
		}
		if i%2 == 0 {
			if err := p.Continue(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	if err := p.Release(t.Context()); err != nil {
		t.Error(err)
	}
	for _, q := range k.procs {
		traced := tracerOf(q.PID()) != 0
		if (q != p) != traced {
			t.Errorf("process %d: traced %v", q.PID(), traced)
		}
	}
	s.Leave()
	for _, q := range k.procs {
		if err := q.Release(t.Context()); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	}
	k.wg.Wait()
	for _, q := range k.procs {
		if tracerOf(q.PID()) != 0 {
			t.Errorf("process %d is still traced", q.PID())
		}
	}
	for _, pid := range kinOf(g.PID)[1:] {
		syscall.Kill(pid, syscall.SIGTERM)
	}
	if _, end := g.Finish(); !end.Success() {
		t.Errorf("the shell: %v", end)
	}
}

// tracerOf returns the thread that traces a process.
func tracerOf(pid int) int {
	st, _ := procfs.ReadStatus(pid)
	return st.TracerPID
}

// kinOf returns a process and its descendants.
func kinOf(pid int) []int {
	all := []int{pid}
	children, _ := procfs.Children(pid, pid)
	for _, child := range children {
		all = append(all, kinOf(child)...)
	}
	return all
}

// TestFollowOnControl: a Handler may ask for breakpoints in any process of its tree, and for nothing that would wait.
func TestFollowOnControl(t *testing.T) {
	k := newKin()
	var once sync.Once
	var errs []error
	k.follow(t, family, ModeRun, TrapInt3, Follow{}, func(h *Hit) {
		once.Do(func() { // the first child
			root := k.procs[0]
			_, err := root.Break(context.Background(), Where{Symbol: "wait4"}, nil)
			errs = append(errs, err, root.Pause(context.Background(), func(*Snapshot) error { return nil }), root.Close())
		})
	})
	k.wg.Wait()
	if len(errs) != 3 || errs[0] != nil || !errors.Is(errs[1], ErrOnControl) || !errors.Is(errs[2], ErrOnControl) {
		t.Errorf("%v", errs)
	}
	if k.hits["wait4"] == 0 {
		t.Errorf("hits %v", k.hits)
	}
}

// TestFollowHeld: a process that is held does not delay the others.
func TestFollowHeld(t *testing.T) {
	s := NewSession(nil)
	defer s.Close()
	k := newKin()
	p, err := s.Create(t.Context(), &Command{Path: "/bin/sh", Args: []string{"sh", "-c", "/bin/true & (exit 5); exit $?"}},
		&CreateOptions{Stop: []Point{PointExec}, Follow: &Follow{Begin: k.begin}})
	if err != nil {
		t.Fatal(err)
	}
	k.begin(p)
	if err := p.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	held := <-k.stopped
	for held == p {
		held = <-k.stopped // the shell's own
	}
	if err := held.Continue(t.Context()); err != nil {
		t.Error(err)
	}
	k.wg.Wait()
	if all := k.events[p.PID()]; all[len(all)-1].Code != 5 {
		t.Errorf("the shell: %v", all[len(all)-1])
	}
	if got := k.kinds(); len(got) != 3 || !slices.Contains(got, "followed exec stopped continued undead") {
		t.Errorf("%q", got)
	}
}

// TestFollowOwnChild: a process that this program has started by os/exec is not followed.
func TestFollowOwnChild(t *testing.T) {
	g := ptest.Start(t, "cat")
	defer g.Finish()
	s := NewSession(nil)
	defer s.Close()
	_, err := s.Grab(t.Context(), g.PID, &GrabOptions{Follow: &Follow{Begin: func(p *Process) {}}})
	if !errors.Is(err, ErrOwnChild) {
		t.Errorf("%v", err)
	}
}
