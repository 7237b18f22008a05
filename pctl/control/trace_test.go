package control

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

// TestRecordedTraces replays recorded traces through the state machine, one for each thread: every line must find the
// state that it was recorded in, and lead to the one that it was recorded with.
func TestRecordedTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.trace")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".trace"), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := replayTrace(f); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTraceReplays: what is recorded of a process whose threads make threads, run into breakpoints and get signals
// while they are stopped and resumed is a scenario: no state changes unrecorded.
func TestTraceReplays(t *testing.T) {
	for _, s := range []storm{
		{"threads", "threadstorm.c", "-t 4 -n %n", 400, ""},
		{"spawn", "spawnstorm.c", "-t 3 -n %n", 400, ""},
		{"exec-thread", "execstorm.c", "-T -n %n -t 2", 400, ""},
		{"signals", "sigstorm.c", "-n %n", 100, ""},
	} {
		t.Run(s.name, func(t *testing.T) {
			g := s.start(t)
			trace := NewTrace(1<<20, nil)
			c, err := Attach(bg, g.PID, &Options{Trace: trace, Trap: TrapInt3})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range hot {
				if _, err := c.BreakSymbol(bg, "", name, 0, func(*Hit) {}); err != nil {
					t.Error(err)
				}
			}
			for i := 0; i < 200 && alive(c); i++ {
				disturb(c) // until it ends
			}
			release(t, c, ModeRun)
			g.Finish()
			var text strings.Builder
			trace.WriteTo(&text)
			if err := replayTrace(strings.NewReader(text.String())); err != nil {
				lines, n := strings.Split(text.String(), "\n"), 0
				fmt.Sscanf(err.Error(), "line %d", &n)
				t.Errorf("%v\n%s", err, strings.Join(lines[max(0, n-50):n], "\n"))
			}
			t.Logf("%d entries", len(trace.ring))
		})
	}
}

var traceLine = regexp.MustCompile(`^ *\d+\.\d+ +(\d+) (.*?)(?: \(.*\))?(?:  +(.*?)(?: -> (.*))?)?$`)

// replayTrace replays the text of a trace.
func replayTrace(text io.Reader) error {
	machines := map[string]*replayed{}
	sc := bufio.NewScanner(text)
	for n := 1; sc.Scan(); n++ {
		if strings.HasPrefix(sc.Text(), "#") {
			continue
		}
		f := traceLine.FindStringSubmatch(sc.Text())
		if f == nil {
			return fmt.Errorf("line %d is no entry: %s", n, sc.Text())
		}
		tid, what, before, after := f[1], f[2], f[3], f[4]
		if before == "" {
			continue // of a thread that is not on the books, or of the process
		}
		if after == "" {
			after = before
		}
		m := machines[tid]
		if before == "new" {
			m = new(replayed)
			machines[tid] = m
		}
		if m == nil {
			return fmt.Errorf("line %d: no thread: %s", n, sc.Text())
		}
		if got := m.String(); before != "new" && got != before {
			return fmt.Errorf("line %d: the state is %s: %s", n, got, sc.Text())
		}
		if after == "gone" {
			delete(machines, tid)
			continue
		}
		if err := m.do(strings.Fields(what), after); err != nil {
			return fmt.Errorf("line %d: %w: %s", n, err, sc.Text())
		}
		if got := m.String(); got != after {
			return fmt.Errorf("line %d: leads to %s: %s", n, got, sc.Text())
		}
	}
	return sc.Err()
}

// replayed is a thread of a trace.
type replayed struct {
	machine
	due action // an interrupt that a hold has asked for
}

// do does what an entry says; state is the one that it was recorded with.
func (m *replayed) do(what []string, state string) error {
	want, got := actNone, actNone
	switch what[0] {
	case "add":
		if strings.HasPrefix(state, "running") {
			m.state = stateRunning
		}
	case "hold":
		m.due = m.hold()
	case "interrupt":
		want, got, m.due = actInterrupt, m.due, actNone
		if got == actNone {
			got = m.ask()
		}
	case "stop":
		s, err := stopOf(what[1:])
		if err != nil {
			return err
		}
		m.stop(s)
	case "exec":
		m.stop(ptrace.Stop{Kind: ptrace.KindExec})
	case "setregs", "abandon", "exited", "killed":
	case "cont":
		want, got = actCont, m.settle()
		if m.signal != number(what[1:]) {
			return fmt.Errorf("signal %d is due", m.signal)
		}
	case "listen":
		if want, got = actListen, m.settle(); got == actNone && m.holds > 0 {
			got = m.pass()
		}
	case "pass":
		want, got = actCont, m.pass()
	default:
		_, ok, err := deedOf(&m.machine, what)
		switch {
		case err != nil:
			return err
		case !ok:
			return errors.New("the machine refuses")
		}
	}
	if got != want {
		return fmt.Errorf("the machine says %v", got)
	}
	return nil
}

func number(words []string) syscall.Signal {
	if len(words) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(words[0])
	return syscall.Signal(n)
}

// TestTraceRing: the last entries are kept, in order, and a trace that nobody wants records nothing.
func TestTraceRing(t *testing.T) {
	var none *Trace
	none.begin(1)
	none.about(1, deedArm, 0, nil)
	none.end()
	var out strings.Builder
	r := NewTrace(3, &out)
	r.begin(42)
	for i := range 5 {
		r.about(i, deedPlant, uint64(i), nil)
	}
	r.about(5, deedSeize, 0, syscall.EPERM)
	r.end()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{"# trace of 42", " 3 plant 0x3", " 4 plant 0x4", " 5 seize (operation not permitted)"}
	if len(lines) != len(want) {
		t.Fatalf("got\n%s", out.String())
	}
	for i, w := range want {
		if !strings.Contains(lines[i], w) {
			t.Errorf("line %d is %q, want %q in it", i, lines[i], w)
		}
	}
}

// BenchmarkTrace: an entry that is not recorded is a comparison with nil.
func BenchmarkTrace(b *testing.B) {
	for name, r := range map[string]*Trace{"off": nil, "on": NewTrace(0, nil)} {
		b.Run(name, func(b *testing.B) {
			c := &tracees{trace: r}
			th := &thread{tid: 1}
			c.trace.did(th, deedAdd, 0, nil)
			for b.Loop() {
				c.trace.did(th, deedCont, 0, nil)
			}
		})
	}
}

// BenchmarkTracedLook is a stop of a thread and its resumption.
func BenchmarkTracedLook(b *testing.B) {
	for _, name := range []string{"off", "on"} {
		b.Run(name, func(b *testing.B) {
			g := ptest.StartWith(b, &ptest.Options{Foreign: true}, ptest.BuildC(b, "spin.c"))
			g.Ready()
			o := new(Options)
			if name == "on" {
				o.Trace = NewTrace(0, nil)
			}
			c, err := Attach(bg, g.PID, o)
			if err != nil {
				b.Fatal(err)
			}
			defer release(b, c, ModeRun)
			tids := c.Threads()[:1]
			for b.Loop() {
				c.LookIf(bg, tids, nil, nil, func(int, *ptrace.Regs) {})
			}
		})
	}
}
