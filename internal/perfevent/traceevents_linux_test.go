package perfevent

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"testing"
)

// TestTraceEvents: a definition has many places, and is gone when it was removed. What a killed process has left is removed by the
// next one; what another one has that lives stays.
func TestTraceEvents(t *testing.T) {
	p := startProbed(t)
	open := func() *traceEvents {
		t.Helper()
		events, err := openTraceEvents()
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		return events
	}
	events := open()
	defer func() { events.close() }()
	list := func() string {
		b, err := events.read("uprobe_events")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	mine := events.newName()
	left := fmt.Sprintf("%s_%d_%d/c", groupPrefix, namespaceInode(t), ended.Process.Pid)
	for _, name := range []string{mine, left} {
		lines := fmt.Sprintf("p:%s %s:%#x\np:%s %s:%#x\n", name, p.path, p.off, name, p.path, p.off+4)
		if id, err := events.define(name, lines); err != nil || id == 0 {
			t.Fatalf("event %d: %v", id, err)
		}
		if n := strings.Count(list(), "p:"+name+" "); n != 2 {
			t.Errorf("%d places of %s, want 2:\n%s", n, name, list())
		}
	}
	events.close()
	events = open()
	if text := list(); strings.Contains(text, left) || !strings.Contains(text, mine) {
		t.Errorf("it should have %s and not %s:\n%s", mine, left, text)
	}
	if _, err := events.define(mine, "p:"+mine+" /nonexistent:0x10\n"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want %v", err, fs.ErrNotExist)
	}
	if text := list(); strings.Contains(text, mine) {
		t.Errorf("it should not have %s:\n%s", mine, text)
	}
	if err := events.remove(mine); err != nil {
		t.Errorf("what is not there: %v", err)
	}
}

func namespaceInode(t *testing.T) uint64 {
	t.Helper()
	ours, err := namespaceOf("self")
	if err != nil {
		t.Fatal(err)
	}
	return ours.ino
}
