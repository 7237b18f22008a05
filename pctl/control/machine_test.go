package control

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptools/internal/ptrace"
)

// TestScenarios replays orders of events through the state machine of a thread. A
// line is an event, "=>", the action that must answer it, what a stop means beyond its kind, and the state
// after it. What cannot be is "refused". A "stop" settles at once, a "report" is still being handled:
//
//	stop clone => cont: running
//	move in-slot => refused: running
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { replay(t, file) })
	}
}

func replay(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var m machine
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line, _, _ := strings.Cut(sc.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		event, want, ok := strings.Cut(line, "=>")
		if !ok {
			t.Fatalf("%s:%d: no =>", file, n)
		}
		said := apply(t, &m, strings.Fields(event))
		if got := fmt.Sprintf("%s: %v", said, &m); got != strings.TrimSpace(want) {
			t.Fatalf("%s:%d: %s\n got %s\nwant %s", file, n, event, got, strings.TrimSpace(want))
		}
	}
}

// kinds are the stops of scenarios by their names.
var kinds = func() map[string]ptrace.Kind {
	m := map[string]ptrace.Kind{}
	for kind, name := range stopNames {
		m[name] = kind
	}
	return m
}()

func apply(t *testing.T, m *machine, event []string) string {
	switch event[0] {
	case "begin":
		*m = machine{}
		if event[1] == "running" {
			m.state = stateRunning
		}
		return actNone.String()
	case "unhold":
		if !m.unhold() {
			return "refused"
		}
		return m.settle().String()
	case "stop", "report": // the latter is still being handled
		s, err := stopOf(event[1:])
		if err != nil {
			t.Fatal(err)
		}
		means := m.stop(s)
		if event[0] == "report" {
			return actNone.String() + means.String()
		}
		return m.settle().String() + means.String()
	case "settle":
		return m.settle().String()
	}
	a, ok, err := deedOf(m, event)
	switch {
	case err != nil:
		t.Fatal(err)
	case !ok:
		return "refused"
	}
	return a.String()
}

// stopOf returns the wait status that words of a scenario or a trace stand for.
func stopOf(words []string) (s ptrace.Stop, err error) {
	kind, ok := kinds[words[0]]
	if !ok {
		return s, fmt.Errorf("unknown stop %q", words[0])
	}
	s.Kind = kind
	for _, word := range words[1:] {
		if word == "back" {
			s.Back = true
			continue
		}
		s.Signal = number([]string{word})
	}
	return s, nil
}

// deedOf does what is done to a thread. It reports what the machine asks for, and whether it refuses.
func deedOf(m *machine, words []string) (a action, ok bool, err error) {
	switch words[0] {
	case "hold":
		return m.hold(), true, nil
	case "ask":
		return m.ask(), true, nil
	case "unhold":
		return actNone, m.unhold(), nil
	case "stand":
		return actNone, m.stand(), nil
	case "park":
		return actNone, m.park(), nil
	case "expect":
		return actNone, m.expect(), nil
	case "vfork":
		m.vfork()
		return actNone, true, nil
	case "pass":
		a = m.pass()
		return a, a != actNone, nil
	case "step":
		return actNone, m.step(), nil
	case "take":
		return actNone, m.take() != 0, nil
	case "give":
		return actNone, m.give(number(words[1:])), nil
	case "move":
		i := slices.Index(positionNames[:], words[1])
		if i < 0 {
			return actNone, false, fmt.Errorf("unknown position %q", words[1])
		}
		return actNone, m.move(position(i)), nil
	}
	return actNone, false, fmt.Errorf("unknown event %q", words[0])
}
