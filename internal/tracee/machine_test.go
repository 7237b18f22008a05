package tracee

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
// line has an event, "=>", the action that must follow, the meaning of a stop beyond its kind, and the state
// after it. An impossible change is "refused". A "stop" settles at once, a "report" is still being handled:
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
	var m Machine
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

func apply(t *testing.T, m *Machine, event []string) string {
	switch event[0] {
	case "begin":
		*m = Machine{}
		if event[1] == "running" {
			m.state = StateRunning
		}
		return ActNone.String()
	case "unhold":
		if !m.Unhold() {
			return "refused"
		}
		return m.settle().String()
	case "stop", "report": // the latter is still being handled
		s, err := stopOf(event[1:])
		if err != nil {
			t.Fatal(err)
		}
		means := m.Stop(s)
		if event[0] == "report" {
			return ActNone.String() + means.String()
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

// stopOf returns the wait status that the words of a scenario or a trace describe.
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

// deedOf does to the machine what the words say. It returns what the machine asks for, and false if it refuses.
func deedOf(m *Machine, words []string) (a Action, ok bool, err error) {
	switch words[0] {
	case "hold":
		return m.hold(), true, nil
	case "ask":
		return m.Ask(), true, nil
	case "unhold":
		return ActNone, m.Unhold(), nil
	case "stand":
		return ActNone, m.stand(), nil
	case "park":
		return ActNone, m.park(), nil
	case "expect":
		return ActNone, m.expect(), nil
	case "vfork":
		m.vfork()
		return ActNone, true, nil
	case "pass":
		a = m.Pass()
		return a, a != ActNone, nil
	case "step":
		return ActNone, m.Step(), nil
	case "take":
		return ActNone, m.take() != 0, nil
	case "give":
		return ActNone, m.Give(number(words[1:])), nil
	case "move":
		i := slices.Index(positionNames[:], words[1])
		if i < 0 {
			return ActNone, false, fmt.Errorf("unknown position %q", words[1])
		}
		return ActNone, m.move(Position(i)), nil
	}
	return ActNone, false, fmt.Errorf("unknown event %q", words[0])
}
