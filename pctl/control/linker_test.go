package control

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// churn describes a run of dlchurn.
type churn struct {
	name    string
	build   func(t testing.TB, src string, flags ...string) string
	plugin  string
	args    string
	threads int
	unloads bool   // dlclose unmaps
	starts  string // functions that its constructor calls
}

// TestLinkerChurn: every load and unload is seen, and a breakpoint by symbol in the
// plugin is hit at every load.
func TestLinkerChurn(t *testing.T) {
	for _, ch := range []churn{
		{"threads", ptest.BuildC, "plugin.c", "", 4, true, ""},
		{"displaced", ptest.BuildC, "testdata/oddplugin.c", "", 4, true, ""},
		{"constructor", ptest.BuildC, "testdata/initplugin.c", "", 3, true, "plugin_begin plugin_choice"},
		{"namespace constructor", ptest.BuildC, "testdata/initplugin.c", "-m", 2, true, "plugin_begin plugin_choice"},
		{"musl constructor", ptest.BuildMusl, "testdata/initplugin.c", "", 3, false, "plugin_begin"},
		{"one", ptest.BuildC, "plugin.c", "", 1, true, ""},
		{"namespaces", ptest.BuildC, "plugin.c", "-m", 3, true, ""},
		{"musl", ptest.BuildMusl, "plugin.c", "", 4, false, ""},
	} {
		t.Run(ch.name, func(t *testing.T) { eachTrap(t, ch.run) })
	}
}

func (ch churn) run(t *testing.T, trap Trap) {
	n := ptest.Rounds(5, 12, 1500)
	argv := []string{ch.build(t, "dlchurn.c"), "-t", strconv.Itoa(ch.threads), "-n", strconv.Itoa(n)}
	argv = append(argv, strings.Fields(ch.args)...)
	paths := map[string]bool{}
	for range ch.threads {
		p := ptest.Copy(t, ch.build(t, ch.plugin, "-shared", "-fPIC"))
		argv = append(argv, "-p", p)
		paths[p] = true
	}
	seen := map[notify.Kind]map[string]int{notify.Loaded: {}, notify.Unloaded: {}}
	bus := notify.NewBus()
	events := bus.Subscribe(notify.Loaded, notify.Unloaded)
	defer events.Close()
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create}, Linker: true, Bus: bus, Trap: trap}, argv...)
	b, err := c.BreakSymbol(bg, filepath.Base(argv[len(argv)-1]), "plugin_call", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var starts []*SymbolBreak
	for _, name := range strings.Fields(ch.starts) {
		s, err := c.BreakSymbol(bg, "", name, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		starts = append(starts, s)
	}
	if err := c.Continue(bg); err != nil {
		t.Fatal(err)
	}
	for {
		e := next(t, events)
		if e.Kind.Terminal() {
			if e.Kind != notify.Undead || !e.Exited || e.Code != 0 {
				t.Errorf("ended: %+v", e)
			}
			break
		}
		if paths[e.Path] {
			seen[e.Kind][e.Path]++
			if (e.Namespace != 0) != strings.Contains(ch.args, "-m") {
				t.Fatalf("namespace of %+v", e)
			}
		}
		if e.Kind == notify.Loaded && e.Base == 0 {
			t.Errorf("loaded at no address: %+v", e)
		}
	}
	if want := "done " + strconv.Itoa(n*ch.threads); !strings.Contains(<-out, want) {
		t.Errorf("did not print %q", want)
	}
	if b.Hits() != uint64(n*ch.threads) {
		t.Errorf("%d hits of %d calls", b.Hits(), n*ch.threads)
	}
	loads, unloads := n, n
	if !ch.unloads {
		loads, unloads = 1, 0
	}
	for _, s := range starts {
		if s.Hits() != uint64(loads*ch.threads) {
			t.Errorf("%s: %d hits in %d loads", s.Symbol(), s.Hits(), loads*ch.threads)
		}
	}
	for p := range paths {
		if l, u := seen[notify.Loaded][p], seen[notify.Unloaded][p]; l != loads || u != unloads {
			t.Errorf("%s: loaded %d and unloaded %d times, want %d and %d", p, l, u, loads, unloads)
		}
	}
}

// TestLinkerAttach: a target is grabbed and released again and again while it loads and
// unloads. It keeps its text, and the events of one object alternate.
func TestLinkerAttach(t *testing.T) {
	argv := []string{ptest.BuildC(t, "dlchurn.c"), "-t", "4"}
	for range 4 {
		argv = append(argv, "-p", ptest.Copy(t, ptest.BuildC(t, "plugin.c", "-shared", "-fPIC")))
	}
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth, Foreign: true}, argv...)
	g.Ready()
	for range ptest.Rounds(3, 5, 300) {
		bus := notify.NewBus()
		events := bus.Subscribe(notify.Loaded, notify.Unloaded)
		c := grab(t, g.PID, &Options{Linker: true, Bus: bus})
		var hits atomic.Int64
		if _, err := c.BreakSymbol(bg, "", "plugin_call", 0, func(*Hit) { hits.Add(1) }); err != nil {
			t.Fatal(err)
		}
		last := map[string]notify.Kind{}
		for range 30 {
			e := next(t, events)
			if last[e.Path] == e.Kind {
				t.Fatalf("%v twice in a row: %s", e.Kind, e.Path)
			}
			last[e.Path] = e.Kind
		}
		for hits.Load() == 0 {
			next(t, events)
		}
		release(t, c, ModeRun)
		events.Close()
		ptest.TextIntact(t, g.PID)
	}
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("%v: %s", state, out)
	}
}

func grab(t *testing.T, pid int, o *Options) *Controller {
	t.Helper()
	c, err := Attach(context.Background(), pid, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestLinkerPending: a breakpoint in an object that comes and goes is at some address
// whenever it is hit, and nowhere when it has been removed.
func TestLinkerPending(t *testing.T) {
	plugin := ptest.Copy(t, ptest.BuildC(t, "plugin.c", "-shared", "-fPIC"))
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "dlchurn.c"), "-t", "1", "-p", plugin)
	g.Ready()
	c := grab(t, g.PID, nil)
	defer release(t, c, ModeRun)
	at := make(chan uint64, 1)
	b, err := c.BreakSymbol(bg, plugin, "plugin_call", 0, func(h *Hit) {
		select {
		case at <- h.Addr():
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		addr := <-at
		if addr == 0 {
			t.Fatal("hit at 0")
		}
	}
	if err := b.Remove(bg); err != nil {
		t.Fatal(err)
	}
	if a := b.Addrs(); len(a) != 0 {
		t.Errorf("removed, and still at %x", a)
	}
}

// TestLinkerExec: breakpoints by symbol are set again in every program of a chain of execs,
// in the executable and in libraries.
func TestLinkerExec(t *testing.T) {
	for _, args := range [][]string{{"-t", "2"}, {"-t", "2", "-T"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			eachTrap(t, func(t *testing.T, trap Trap) { linkerExec(t, trap, args) })
		})
	}
}

func linkerExec(t *testing.T, trap Trap, args []string) {
	n := ptest.Rounds(10, 50, 2000)
	argv := append([]string{ptest.BuildC(t, "execstorm.c"), "-n", strconv.Itoa(n)}, args...)
	bus := notify.NewBus()
	events := bus.Subscribe(notify.Exec)
	defer events.Close()
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create}, Bus: bus, Trap: trap}, argv...)
	want := map[string]int{"main": n + 1, "exec_again": n, "execv": n}
	breaks := map[string]*SymbolBreak{}
	for name := range want {
		b, err := c.BreakSymbol(bg, "", name, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		breaks[name] = b
	}
	if err := c.Continue(bg); err != nil {
		t.Fatal(err)
	}
	execs := 0
	for e := next(t, events); !e.Kind.Terminal(); e = next(t, events) {
		execs++
	}
	if got := <-out; !strings.Contains(got, "done "+strconv.Itoa(n)) {
		t.Errorf("printed %q", got)
	}
	if execs != n {
		t.Errorf("%d execs told of %d", execs, n)
	}
	for name, b := range breaks {
		if b.Hits() != uint64(want[name]) {
			t.Errorf("%s: %d hits, want %d", name, b.Hits(), want[name])
		}
	}
	<-c.Done()
}
