package pctl

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// called is a target that calls functions, and the Process that it is held as.
type called struct {
	*ptest.Target
	*Process
	t *testing.T
}

func startCalled(t *testing.T, o *GrabOptions) *called {
	t.Helper()
	uprobe.Need(t)
	g := ptest.Start(t, ptest.BuildC(t, "./testdata/called.c", "-g"))
	g.Ready()
	return &called{g, grab(t, session(t, nil), g.PID, o), t}
}

// count begins to count.
func (c *called) count(spec CallSpec) *Calls {
	c.t.Helper()
	calls, err := c.Calls(bg, &spec)
	if err != nil {
		c.t.Fatal(err)
	}
	return calls
}

// work has the target call its functions n times each.
func (c *called) work(n int) {
	c.t.Helper()
	fmt.Fprintln(c.Stdin, n)
	if got := c.Line(); got != fmt.Sprint(n) {
		c.t.Fatalf("the target prints %q", got)
	}
}

// TestCalls: calls of a process that is only read are events with typed values, and statistics while they are counted, at
// the process's end and after Close.
func TestCalls(t *testing.T) {
	t.Run("kernel", func(t *testing.T) { testCalls(t, &GrabOptions{ReadOnly: true}, TrapUprobe) })
	t.Run("int3s", func(t *testing.T) { testCalls(t, nil, TrapInt3) })
}

func testCalls(t *testing.T, o *GrabOptions, trap Trap) {
	c := startCalled(t, o)
	all := c.count(CallSpec{Functions: []string{"mixed(n != 1)", "a.out`named"}, Args: true, Where: true, Trap: trap})
	if (all.Trapped() != nil) != (trap == TrapInt3) {
		t.Errorf("by %v: %v", trap, all.Trapped())
	}
	c.work(3)
	count := func(when string) {
		t.Helper()
		stats := map[string]CallStats{}
		for _, s := range all.Stats() {
			stats[s.Name] = s
		}
		for name, want := range map[string]uint64{"mixed": 4, "named": 3} { // mixed is called twice for each number
			s := stats[name]
			sum := uint64(0)
			for _, class := range s.Histogram() {
				sum += class.Calls
			}
			if s.Calls != want || s.Returned != want || sum != want || s.Percentile(1) != s.Max || s.Max <= 0 || s.Total < s.Max || s.Unseen != 0 || s.Err != nil {
				t.Errorf("%s, %s: %+v", when, name, s)
			}
		}
	}
	count("while it runs")
	c.Stdin.Close()
	pair := func(text string) Value { return Value{"p", "struct pair *", text, nil} }
	seen := 0
	for e, err := range all.All(bg) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == KindUndead {
			break
		}
		if seen++; e.Kind != KindCall || e.PID != c.Process.PID() || e.TID != e.PID || e.Call.Duration <= 0 {
			t.Errorf("%+v", e)
		}
		switch call := e.Call; call.Name {
		case "mixed":
			args := []Value{
				{"n", "int", "0", int64(0)}, {"text", "char *", `"a text\n"`, "a text\n"}, {"small", "unsigned char", "200", uint64(200)},
				{"c", "color", "GREEN", uint64(200)}, pair(call.Args[4].Text),
			}
			args[4].V = call.Args[4].V
			if call.Args[0].V != int64(0) || call.Args[1].V == "within" {
				break
			}
			for i := range args {
				args[i].Type = call.Args[i].Type
			}
			if !reflect.DeepEqual(call.Args, args) {
				t.Errorf("%+v, want %+v", call.Args, args)
			}
			if addr, ok := call.Args[4].V.(uint64); !ok || fmt.Sprintf("%#x", addr) != call.Args[4].Text {
				t.Errorf("%+v", call.Args[4])
			}
			if len(call.Stack) < 2 || call.Stack[0].Func != "mixed" || call.Stack[1].Func != "main" {
				t.Errorf("%+v", call.Stack)
			}
		case "named":
			if s := call.String(); s != `named(p={a=7, b=-8}, yes=true) = "a result"` || call.Args[0].V != nil || call.Args[1].V != true || call.Results[0].V != "a result" {
				t.Errorf("%s: %+v %+v", s, call.Args, call.Results)
			}
		}
	}
	if seen != 7 {
		t.Errorf("%d calls, want 7", seen)
	}
	if _, err := all.Next(bg); err != io.EOF {
		t.Errorf("behind the last event: %v", err)
	}
	if err := errors.Join(all.Close(), all.Close()); err != nil {
		t.Error(err)
	}
	count("after Close")
	if _, err := all.Next(bg); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestCallsFollow: calls of children, and of what they execute, are counted with CallsOfChildren, each is an event of its process, and the stream ends when none is left.
func TestCallsFollow(t *testing.T) {
	uprobe.NeedLinks(t)
	g := ptest.Start(t, ptest.BuildC(t, "brood.c"), "3", "2", "wait")
	g.Ready()
	s := NewSession(nil)
	defer s.Close()
	p, err := s.Grab(bg, g.PID, &GrabOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Calls(bg, &CallSpec{Functions: []string{"work"}, By: "process"}); err == nil || !strings.Contains(err.Error(), "the calls of one process are counted") {
		t.Errorf("by process: %v", err)
	}
	all, err := p.Calls(bg, &CallSpec{Functions: []string{"work"}, Scope: CallsOfChildren, Each: true, By: "process"})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(g.Stdin, "\n")
	calls, last := map[int]uint64{}, KindCall
	for e, err := range all.All(bg) {
		if err != nil {
			t.Fatal(err)
		}
		if last = e.Kind; last == KindCall {
			calls[e.PID]++
		}
	}
	if len(calls) != 7 || calls[g.PID] != 2 || last != KindUndead {
		t.Errorf("calls of %v, and %v at the end", calls, last)
	}
	again := 0 // processes that have executed the program again
	for _, k := range all.Stats() {
		pid, _, _ := strings.Cut(k.Key, " ")
		if n, _ := strconv.Atoi(pid); calls[n] != k.Returned || k.Returned != 2 && k.Returned != 4 {
			t.Errorf("process %s: %d calls, of which %d returned; %d events", k.Key, k.Calls, k.Returned, calls[n])
		}
		if k.Returned == 4 {
			again++
		}
	}
	if again != 1 {
		t.Errorf("%d processes have called twice as much", again)
	}
	if err := all.Close(); err != nil {
		t.Error(err)
	}
}

// TestCallsExec: an exec ends the counting, and the stream says so. The process has breakpoints at the same functions.
func TestCallsExec(t *testing.T) {
	c := startCalled(t, nil)
	b, err := c.Break(bg, Where{Symbol: "mixed"}, func(*Hit) {})
	if err != nil {
		t.Fatal(err)
	}
	sums := c.count(CallSpec{Functions: []string{"mixed"}, By: "text", Sum: "n * small"})
	slow := c.count(CallSpec{Functions: []string{"mixed"}, Slower: 1})
	c.work(10)
	for _, s := range sums.Stats() {
		small := map[string]uint64{`"a text\n"`: 200, `"within"`: 255}[s.Key]
		if s.Calls != 10 || s.Summed != 10 || s.Sum.Uint64() != 45*small {
			t.Errorf("%+v", s)
		}
	}
	if b.Hits() != 20 {
		t.Errorf("%d hits, want 20", b.Hits())
	}
	fmt.Fprintln(c.Stdin, "exec")
	c.Ready()
	c.work(5)
	n := 0
	for e, err := range slow.All(bg) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n <= 20 && e.Kind != KindCall || n == 21 && (e.Kind != KindExec || !strings.HasSuffix(e.Path, "/called")) {
			t.Errorf("event %d: %v", n, e)
		}
	}
	if stats := slow.Stats(); n != 21 || len(stats) != 1 || stats[0].Calls != 20 {
		t.Errorf("%d events; %+v", n, stats)
	}
	if err := c.Process.Close(); err != nil {
		t.Error(err)
	}
	if _, err := sums.Next(bg); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the Process's Close: %v", err)
	}
	c.work(5)
}

// TestCallsUnread: calls that are not read in time are counted, and those that are kept are read later.
func TestCallsUnread(t *testing.T) {
	c := startCalled(t, &GrabOptions{ReadOnly: true})
	all := c.count(CallSpec{Functions: []string{"mixed"}, Where: true})
	const n = 5000 // there are two calls each; the kernel has room for 3,700 stacks, and we for some thousand calls
	c.work(n)
	c.Stdin.Close()
	stats := all.Stats()
	seen := uint64(0)
	for e, err := range all.All(bg) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == KindCall {
			seen++
		}
	}
	if len(stats) != 1 || stats[0].Calls != 2*n || stats[0].Unseen == 0 || seen+stats[0].Unseen != 2*n {
		t.Errorf("%d events; %+v", seen, stats)
	}
}

// TestCallsRefused: what is wrong is said, and nothing remains.
func TestCallsRefused(t *testing.T) {
	c := startCalled(t, &GrabOptions{ReadOnly: true})
	for _, try := range []struct {
		spec *CallSpec
		want string
	}{
		{nil, "no functions are named"},
		{&CallSpec{Functions: []string{"mixed", "nixed"}}, "no function is named nixed in what process %d has mapped (similar: mixed"},
		{&CallSpec{Functions: []string{"libnone`mixed"}}, "process %d has mapped no object named libnone"},
		{&CallSpec{Functions: []string{"mixed(m > 1)"}}, "condition of mixed: no argument is named m, but n, text"},
		{&CallSpec{Functions: []string{"mixed"}, By: "1"}, `by "1": it is no argument`},
		{&CallSpec{Functions: []string{"mixed"}, By: "m"}, "by of mixed: no argument is named m"},
		{&CallSpec{Functions: []string{"mixed"}, Sum: "n +"}, `sum "n +": `},
		{&CallSpec{Functions: []string{"mixed"}, By: "stack", Args: true}, "by stack: "},
	} {
		_, err := c.Calls(bg, try.spec)
		if strings.Contains(try.want, "%d") {
			try.want = fmt.Sprintf(try.want, c.Process.PID())
		}
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("pctl: count calls %d: %s", c.Process.PID(), try.want)) {
			t.Errorf("%+v: %v, want %s", try.spec, err, try.want)
		}
		if got := errors.Is(err, ErrNoFunction); got != strings.Contains(try.want, "mapped") {
			t.Errorf("%v: ErrNoFunction is %v", err, got)
		}
	}
	c.Stdin.Close()
	if _, err := c.Process.Wait(bg); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Calls(bg, &CallSpec{Functions: []string{"mixed"}}); !errors.Is(err, ErrEnded) {
		t.Errorf("of an ended process: %v", err)
	}
}

// TestCallsNotTrapped: int3s are for processes that are controlled, and not for children.
func TestCallsNotTrapped(t *testing.T) {
	c := startCalled(t, &GrabOptions{ReadOnly: true})
	if _, err := c.Calls(bg, &CallSpec{Functions: []string{"mixed"}, Trap: TrapInt3}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("of a process that is only read: %v", err)
	}
	c = startCalled(t, nil)
	if _, err := c.Calls(bg, &CallSpec{Functions: []string{"mixed"}, Trap: TrapInt3, Scope: CallsOfChildren}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("of children: %v", err)
	}
}
