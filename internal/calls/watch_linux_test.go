package calls

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
	_ "ptools/internal/ptest/uprobe" // PTOOLS_PROBES
	"ptools/pctl/handle"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// A truth is how often functions were called, and have returned, by their own count.
type truth map[string][2]uint64

// a watched is a target that works when it is told to, and what watches it.
type watched struct {
	*ptest.Target
	t *testing.T
	*Watch
}

// start starts a target and prepares the watch of functions with some names, or of all functions in its own file.
func start(t *testing.T, program string, names ...string) *watched {
	t.Helper()
	w := &watched{Target: ptest.Start(t, program), t: t}
	w.Ready()
	w.Watch = watch(t, w.PID, path.Base(program), names...)
	return w
}

func watch(t *testing.T, pid int, object string, names ...string) *Watch {
	t.Helper()
	return report(t, pid, object, CallReports{}, names...)
}

// report is watch with reports of calls.
func report(t *testing.T, pid int, object string, which CallReports, names ...string) *Watch {
	t.Helper()
	return watchSpec(t, pid, object, Spec{CallReports: which}, names...)
}

func watchSpec(t *testing.T, pid int, object string, spec Spec, names ...string) *Watch {
	t.Helper()
	w, done, err := tryOpen(pid, object, spec, names...)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	return w
}

// tryOpen opens a watch of functions with some names, or of all. done closes it.
func tryOpen(pid int, object string, spec Spec, names ...string) (w *Watch, done func(), err error) {
	s, forget, err := selected(pid, object, spec, names...)
	if err != nil {
		return nil, nil, err
	}
	release, err := trapAt(pid, &spec)
	if err == nil {
		w, err = s.Open(spec)
	}
	if err != nil {
		release()
		forget()
		return nil, nil, err
	}
	return w, func() { w.Close(); forget() }, nil
}

// selected looks for functions with some names, or for all. forget closes the process.
func selected(pid int, object string, spec Spec, names ...string) (s *Selection, forget func(), err error) {
	p, err := OpenProcess(pid)
	if err != nil {
		return nil, nil, err
	}
	if len(names) == 0 {
		names = []string{"*"}
	}
	var patterns []Pattern
	for _, name := range names {
		pattern, err := ParsePattern(object + "`" + name)
		if err != nil {
			p.Close()
			return nil, nil, err
		}
		patterns = append(patterns, pattern)
	}
	if s, err = p.Select(patterns, spec.Arguments()); err != nil {
		p.Close()
		return nil, nil, err
	}
	return s, p.Close, nil
}

// work has the target do some rounds, and returns its counts.
func (w *watched) work(rounds int) truth {
	w.t.Helper()
	fmt.Fprintln(w.Stdin, rounds)
	all := truth{}
	f := strings.Fields(w.Line())
	for i := 0; i+2 < len(f); i += 3 {
		called, err1 := strconv.ParseUint(f[i+1], 10, 64)
		returned, err2 := strconv.ParseUint(f[i+2], 10, 64)
		if err1 != nil || err2 != nil {
			w.t.Fatalf("target prints %q", f)
		}
		all[f[i]] = [2]uint64{called, returned}
	}
	return all
}

// holds compares what was counted since the truth was old with the target's counts, and says how much that is.
func (w *watched) holds(old, now truth) (found string) {
	w.t.Helper()
	seen := 0
	var counted, timed, made uint64
	for i := range w.Targets {
		var s Stats
		name := w.Targets[i].Raw
		want, ok := now[name]
		if !ok {
			continue
		}
		if !w.Read(i, &s) {
			w.t.Errorf("%s: %v", name, w.Targets[i].Err)
			continue
		}
		seen++
		counted, timed, made = counted+s.Calls, timed+s.Returned, made+want[0]-old[name][0]
		if s.Calls != want[0]-old[name][0] || s.Returned != want[1]-old[name][1] {
			w.t.Errorf("%s: counted %d calls, %d returned, %d left; the target %d and %d", name, s.Calls, s.Returned, s.Left, want[0]-old[name][0], want[1]-old[name][1])
		}
		if s.Left > s.Calls-s.Returned {
			w.t.Errorf("%s: %d of %d calls left, %d returned", name, s.Left, s.Calls, s.Returned)
		}
		sum := uint64(0)
		for _, n := range s.Buckets {
			sum += n
		}
		if sum != s.Returned || s.Untimed > 0 {
			w.t.Errorf("%s: %d in classes of duration, %d returned, %d without a time", name, sum, s.Returned, s.Untimed)
		}
	}
	if seen != len(now) {
		w.t.Errorf("%d of %d functions have probes", seen, len(now))
	}
	return fmt.Sprintf("%d of %d counted, %d timed", counted, made, timed)
}

// lives has the target end by itself.
func (w *watched) lives() {
	w.t.Helper()
	if out, state := w.Finish(); !state.Success() {
		w.t.Errorf("the target has ended with %v\n%s", state, out)
	}
}

// TestEndings: each end of a call is that of the call which it ends, and nothing is counted but while the watch is on.
func TestEndings(t *testing.T) {
	for _, o := range []string{"-O0", "-O2"} {
		t.Run(o, func(t *testing.T) {
			w := start(t, ptest.BuildC(t, "testdata/endings.cc", o), "plain", "thrower", "catcher", "jumper", "deep", "tail", "yielder")
			old := w.work(16)
			w.Begin()
			now := w.work(ptest.Rounds(32, 64, 20_000)) // multiples of 16, after which no coroutine is in a call
			w.End()
			w.work(16)
			found := w.holds(old, now)
			t.Logf("fact: calls of C++ (%s), exceptions and coroutines: %s", o, found)
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			w.work(16)
			w.lives()
		})
	}
}

// TestGoEndings: calls on stacks that are copied, on goroutines that change threads, panic and exit.
func TestGoEndings(t *testing.T) {
	w := start(t, ptest.BuildGo(t, "testdata/goendings.go"), "main.plain", "main.grow", "main.panics2", "main.recovers2", "main.exits2", "main.yields2")
	old := w.work(10)
	w.Begin()
	now := w.work(ptest.Rounds(5, 10, 5000))
	w.End()
	found := w.holds(old, now)
	t.Logf("fact: calls of Go, panics and moved stacks: %s", found)
	w.work(10)
	w.lives()
}

// TestNames: by which names a function is found.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		raw  string
		yes  string
		none string
	}{
		{"malloc", "malloc mal* *oc m?lloc libc.so.6`malloc libc`* libc.so*`*", "mallo alloc a.out`* malloc? ld*`*"},
		{"_ZN2ns3Box3putERKSs", "_ZN2ns3Box* ns::Box::put put ns::*::put ns::Box::put(*", "Box put( ns::Box"},
		{"_ZN2ns3Box3putEi", "put(int) ns::Box::put(int) put", "put(long) put() Box::put(int)"},
		{"_ZN2ns3BoxIiE3putEiPKc", "put(int,?char?const*) ns::Box::put(*) ns::Box<int>::put(*", "put(int)"},
		{"net/http.(*conn).serve", "net/http.* net/http.(*conn).serve http.(*conn).serve *.serve http.*", "serve conn.serve"},
		{"_Z2tkILi3EEii", "tk<3> tk tk<*>", "tk<4>"},
		{"_ZNSsC1Ev", "basic_string std::*", "std"},
		{"_ZN2ns3BoxD1Ev", "ns::Box::~Box ~Box", "Box"},
		{"_RNvC6_123foo3bar", "bar *::bar", "baz"},
		{"_ZN3foo3bar17h05af221e174051e9E", "foo::bar bar", "foo"},
		{"_ZN3foo5__bar17h05af221e174051e9E", "foo::__bar __bar", "bar _bar"},
		{"f.constprop.0", "f f.constprop.0 f*", "g constprop.0"},
		{"f.part.0", "f.part.0 f.*", "f"},
	} {
		names := NamesOf(c.raw)
		try := func(texts string, want bool) {
			for _, text := range strings.Fields(texts) {
				p, err := ParsePattern(text)
				if err != nil {
					t.Fatal(err)
				}
				if got := p.In(handle.FileNames("/usr/lib/libc.so.6")) && p.mayMatch(c.raw) && p.Matches(&names); got != want {
					t.Errorf("%s for %s: %v", text, c.raw, got)
				}
			}
		}
		try(c.yes, true)
		try(c.none, false)
	}
}

// TestEverything: all functions of a program, those of Go's runtime included.
func TestEverything(t *testing.T) {
	w := start(t, ptest.BuildGo(t, "testdata/goendings.go"))
	probed := 0
	for i := range w.Targets {
		if w.Targets[i].Err == nil {
			probed++
		}
	}
	if probed < len(w.Targets)*9/10 {
		t.Errorf("%d of %d functions have a probe", probed, len(w.Targets))
	}
	w.Begin()
	now := w.work(ptest.Rounds(1, 1, 100))
	w.End()
	w.holds(truth{}, now)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	w.work(10)
	w.lives()
}
