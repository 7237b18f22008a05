package control

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptrace"
)

// TestScenarios replays orders of events through the state machine of a thread. A
// line is an event, "=>", the action that must answer it and the state after it:
//
//	stop clone => cont: running
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
		a := apply(t, &m, strings.Fields(event))
		if got := fmt.Sprintf("%v: %v", a, &m); got != strings.TrimSpace(want) {
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

func apply(t *testing.T, m *machine, event []string) action {
	switch event[0] {
	case "begin":
		*m = machine{}
		if event[1] == "running" {
			m.state = stateRunning
		}
		return actNone
	case "hold":
		return m.hold()
	case "ask":
		return m.ask()
	case "unhold":
		m.unhold()
		return m.settle()
	case "stop":
		var sig int
		if len(event) > 2 {
			sig, _ = strconv.Atoi(event[2])
		}
		kind, ok := kinds[event[1]]
		if !ok {
			t.Fatalf("unknown stop %q", event[1])
		}
		m.stop(kind, syscall.Signal(sig))
		return m.settle()
	}
	t.Fatalf("unknown event %q", event[0])
	return actNone
}

func TestUnholdTooOften(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("unhold of a thread that nobody holds did not panic")
		}
	}()
	new(machine).unhold()
}
