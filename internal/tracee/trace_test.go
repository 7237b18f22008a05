package tracee

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

	"ptools/internal/ptrace"
)

// TestRecordedTraces replays recorded traces through state machines, one for each thread. Every line must find the
// machine in its recorded state before, and lead to its recorded state after.
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
			continue // about a thread without a record, or about the process
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
	Machine
	due Action // an interrupt that a hold has asked for
}

// do does what an entry says. state is the recorded state after it.
func (m *replayed) do(what []string, state string) error {
	want, got := ActNone, ActNone
	switch what[0] {
	case "add":
		if strings.HasPrefix(state, "running") {
			m.state = StateRunning
		}
	case "hold":
		m.due = m.hold()
	case "interrupt", "spare":
		want, got, m.due = ActInterrupt, m.due, ActNone
		if got == ActNone {
			got = m.Ask()
		}
	case "stop":
		s, err := stopOf(what[1:])
		if err != nil {
			return err
		}
		m.Stop(s)
	case "exec":
		m.Stop(ptrace.Stop{Kind: ptrace.KindExec})
	case "setregs", "abandon", "exited", "killed":
	case "cont":
		want, got = ActCont, m.settle()
		if m.signal != number(what[1:]) {
			return fmt.Errorf("signal %d is due", m.signal)
		}
	case "listen":
		if want, got = ActListen, m.settle(); got == ActNone && m.holds > 0 {
			got = m.Pass()
		}
	case "pass":
		want, got = ActCont, m.Pass()
	default:
		_, ok, err := deedOf(&m.Machine, what)
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

// TestTraceRing: the last entries are kept, in order, and a trace that is not wanted records nothing.
func TestTraceRing(t *testing.T) {
	var none *Trace
	none.Begin(1)
	none.About(1, DeedArm, 0, nil)
	none.End()
	var out strings.Builder
	r := NewTrace(3, &out)
	r.Begin(42)
	for i := range 5 {
		r.About(i, DeedPlant, uint64(i), nil)
	}
	r.About(5, DeedSeize, 0, syscall.EPERM)
	r.End()
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

// BenchmarkTrace: an entry that is not recorded costs a comparison with nil.
func BenchmarkTrace(b *testing.B) {
	for name, r := range map[string]*Trace{"off": nil, "on": NewTrace(0, nil)} {
		b.Run(name, func(b *testing.B) {
			c := &Group{Trace: r}
			th := &Thread{TID: 1}
			c.Trace.Did(th, DeedAdd, 0, nil)
			for b.Loop() {
				c.Trace.Did(th, DeedCont, 0, nil)
			}
		})
	}
}
