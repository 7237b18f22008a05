package calls

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
)

// hazards are the functions of testdata/hazards.cc.
var hazards = []string{"interrupted", "handled", "brief", "leaver", "blocked", "even", "odd", "ping", "pong", "loaded"}

// startHazards starts hazards.cc and prepares the watch of its functions, and of that in the object that it loads.
func startHazards(t *testing.T, flag string) *watched {
	t.Helper()
	library := ptest.BuildC(t, "testdata/loaded.c", "-shared", "-fPIC")
	w := &watched{Target: ptest.Start(t, ptest.BuildC(t, "testdata/hazards.cc", flag), library), t: t}
	w.Ready()
	w.Watch = watch(t, w.PID, "*", hazards...)
	return w
}

// TestHazards: signal handlers inside calls, mutual recursion by calls and jumps, threads that are left and canceled, an object
// that is unloaded, children, and the uprobes of another program at the same instructions, which come and go.
func TestHazards(t *testing.T) {
	for _, o := range []string{"-O0", "-O2"} {
		t.Run(o, func(t *testing.T) {
			w := startHazards(t, o)
			old := w.work(16)
			w.Begin()
			stop := make(chan struct{})
			var others sync.WaitGroup
			others.Go(func() {
				for !trapping { // the kernel would take the traps for its own
					select {
					case <-stop:
						return
					default:
						if err := other(w.PID); err != nil {
							t.Error(err)
							return
						}
					}
				}
			})
			now := w.work(ptest.Rounds(30, 60, 5000))
			close(stop)
			others.Wait()
			w.End()
			w.work(16)
			w.unloads(now)
			w.holds(old, now)
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			w.work(16)
			w.lives()
		})
	}
}

// unloads leaves the function of the object that is loaded again out of a truth: it has no traps then, and that is said.
func (w *watched) unloads(now truth) {
	if !trapping {
		return
	}
	delete(now, "loaded")
	if err := w.Unprobed(); !errors.Is(err, ErrUntrapped) {
		w.t.Errorf("an object with traps is unloaded and loaded: %v", err)
	}
}

// other counts calls of the same functions for a moment, as another program.
func other(pid int) error {
	w, done, err := tryOpen(pid, "*", Spec{}, hazards...)
	if err != nil {
		return err
	}
	defer done()
	w.Begin()
	return w.Close()
}

// TestExec: the calls of the program that the process executes later are not counted, even if it is the same one.
func TestExec(t *testing.T) {
	w := startHazards(t, "-O2")
	w.Begin()
	now := w.work(16)
	fmt.Fprintln(w.Stdin, -1)
	w.Ready()
	w.work(16)
	if trapping {
		delete(now, "loaded")
	}
	w.holds(truth{}, now)
	w.Begin() // changes nothing
	w.work(16)
	w.holds(truth{}, now)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	w.work(16)
	w.lives()
}

// TestUnloaded: functions of an object that is unloaded before the probes are made have none, and the others are counted.
func TestUnloaded(t *testing.T) {
	w := &watched{Target: ptest.Start(t, ptest.BuildC(t, "testdata/hazards.cc", "-O2"), ptest.BuildC(t, "testdata/loaded.c", "-shared", "-fPIC")), t: t}
	w.Ready()
	s, done, err := selected(w.PID, "*", Spec{}, "even", "loaded")
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	w.work(-2)
	if w.Watch, err = s.Open(Spec{}); errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range w.Targets {
		if f := &w.Targets[i]; (f.Err != nil) != (f.Raw == "loaded") {
			t.Errorf("%s: %v", f.Raw, f.Err)
		}
	}
	w.Begin()
	now := w.work(16)
	w.holds(truth{}, truth{"even": now["even"]})
	w.lives()
}

// TestFirstThreadEnded: where the kernel plants nothing, that is an error.
func TestFirstThreadEnded(t *testing.T) {
	target := ptest.Start(t, ptest.BuildC(t, "leaderdead.c"), "-t", "2")
	target.Ready()
	w, done, err := tryOpen(target.PID, "a.out", Spec{}, "work_on")
	if err == nil {
		defer done()
		w.Begin()
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if !errors.Is(err, ErrFirstEnded) {
		t.Errorf("%v, want %v", err, ErrFirstEnded)
	}
	target.Kill()
}

// TestFirstThreadEnds: calls of a process whose first thread ends later are counted on, or it is said that they are not.
func TestFirstThreadEnds(t *testing.T) {
	w := start(t, ptest.BuildC(t, "../perfevent/testdata/probed.c"), "probed")
	w.Begin()
	call := func() uint64 {
		fmt.Fprintln(w.Stdin, 100)
		w.Line()
		var s Stats
		w.Read(0, &s)
		return s.Calls
	}
	if n := call(); n != 100 || w.Lost() != nil {
		t.Errorf("%d calls, want 100; %v", n, w.Lost())
	}
	fmt.Fprintln(w.Stdin, "l")
	w.WaitFor("the end of the first thread", func() bool {
		stat, err := procfs.ReadStat(w.Target.PID)
		return err == nil && stat.State == 'Z' && (!w.Polled() || w.Lost() != nil)
	})
	want := uint64(200)
	if w.Polled() {
		want = 100
	}
	if n := call(); n != want || w.Polled() != errors.Is(w.Lost(), ErrFirstEnds) {
		t.Errorf("%d calls, want %d; %v", n, want, w.Lost())
	}
}

// TestMappedAgain: calls in text that is mapped a second time after Open are counted, or it is said how many of their ends are not.
func TestMappedAgain(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "twice.c"))
	g.Ready()
	w := watch(t, g.PID, "twice", "twice_called")
	w.Begin()
	for _, order := range "omcco" {
		fmt.Fprint(g.Stdin, string(order))
		g.Line()
	}
	var s Stats
	if w.Read(0, &s); trapping {
		if w.End(); s.Calls != 2 || !errors.Is(w.Unprobed(), ErrUntrapped) {
			t.Errorf("%d calls at traps; %v", s.Calls, w.Unprobed())
		}
		return
	}
	if elsewhere, _ := w.Uncounted(); s.Calls+elsewhere/2 != 4 || s.Returned != s.Calls || elsewhere > 0 && s.Calls != 2 {
		t.Errorf("%d calls, %d returned, and %d beginnings and ends elsewhere", s.Calls, s.Returned, elsewhere)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestUnprobed: calls in text that is mapped shared, or so that it can be written, have no probes, and that is said.
func TestUnprobed(t *testing.T) {
	for orders, unprobed := range map[string]bool{"osco": true, "owco": true, "oscuo": true, "omco": false, "oo": false} {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "twice.c"))
		g.Ready()
		w := watch(t, g.PID, "twice", "twice_called")
		w.Begin()
		for _, order := range orders {
			fmt.Fprint(g.Stdin, string(order))
			g.Line()
		}
		g.Stdin.Close()
		g.Wait()
		w.End()
		if err := w.Unprobed(); errors.Is(err, ErrUnprobed) != unprobed || !unprobed && err != nil {
			t.Errorf("%s: %v", orders, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
