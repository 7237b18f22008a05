package pctl

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// compareDetails checks what traces do not have: channels, threads and labels.
func compareDetails(t *testing.T, target *ptest.Target, all map[uint64]*Goroutine, labels bool) {
	t.Helper()
	channels := make(map[string]map[uint64]bool)
	for _, g := range all {
		trace := g.Trace()
		if len(trace) == 0 {
			continue
		}
		function := trace[len(trace)-1].Func
		switch function {
		case "main.receive", "main.send", "main.choose", "main.nilReceive", "main.lock":
			if channels[function] == nil {
				channels[function] = make(map[uint64]bool)
			}
			for _, c := range g.Channels {
				channels[function][c] = true
			}
		case "main.inCall":
			if g.State != "syscall" || !slices.Contains(target.Threads(), g.Thread) {
				t.Errorf("in a system call: %s, thread %d of %d", g.State, g.Thread, target.Threads())
			}
		case "main.lockedCall":
			if !slices.Contains(target.Threads(), g.Locked) {
				t.Errorf("locked to thread %d of %d", g.Locked, target.Threads())
			}
		case "main.labelled":
			if want := []GoLabel{{"request", "r1"}, {"user", "u\n1"}}; labels && !slices.Equal(g.Labels, want) {
				t.Errorf("labels %q", g.Labels)
			}
		case "main.descended":
			compareAncestors(t, g)
		default:
			if len(g.Labels) > 0 || g.Locked != 0 && g.ID != 1 {
				t.Errorf("labels %q, locked to %d: %s", g.Labels, g.Locked, g.AppendTrace(nil))
			}
		}
	}
	receive, choose := channels["main.receive"], channels["main.choose"]
	common := 0
	for c := range receive {
		if choose[c] {
			common++
		}
	}
	// All receive from one channel. Each send and each timer has its own.
	if len(receive) != 1 || common != 1 || len(choose) != 62 || len(channels["main.send"]) != 60 || len(channels["main.nilReceive"])+len(channels["main.lock"]) != 0 {
		t.Errorf("%d channels of all that receive, %d of them of those that select, which have %d; of %d that send; %d, %d",
			len(receive), common, len(choose), len(channels["main.send"]), len(channels["main.nilReceive"]), len(channels["main.lock"]))
	}
}

// compareAncestors checks the line of a grandchild of a goroutine that main made. The first stack has 62 functions: Go records 50 of them, and
// before Go 1.21 all.
func compareAncestors(t *testing.T, g *Goroutine) {
	t.Helper()
	line, err := g.Ancestors()
	if err != nil || len(line) != 3 || line[0].ID != g.Parent && g.Parent != 0 || line[2].ID != 1 || line[0].Cut != (len(line[0].Stack) == 50) || len(line[0].Stack) < 50 || line[1].Cut || line[2].CreatedAt != nil {
		t.Fatalf("ancestors %+v, %v", line, err)
	}
	by := line[0].CreatedAt
	inner := func(f Frame) bool { return strings.HasPrefix(f.Func, "runtime.") }
	for i, want := range []string{"main.deeper", "main.descend", "main.main"} {
		stack := slices.DeleteFunc(slices.Clone(line[i].Stack), inner)
		if len(stack) == 0 || stack[0].Func != want || stack[0].Line == 0 || len(by) == 0 || by[0].Func != "main.descend" {
			t.Errorf("ancestor %d was in %+v, not in %s, created at %+v", i, stack, want, by)
		}
	}
}

// compareWaits checks the locks and descriptors that goroutines wait for.
func compareWaits(t *testing.T, target *ptest.Target, all map[uint64]*Goroutine) {
	t.Helper()
	locks, variables, fds := make(map[string]map[GoLock]int), make(map[string]string), make(map[int]bool)
	for _, g := range all {
		trace := g.Trace()
		if len(trace) == 0 {
			continue
		}
		function := trace[len(trace)-1].Func
		if g.Lock.Kind != "" {
			if locks[function] == nil {
				locks[function] = make(map[GoLock]int)
			}
			locks[function][g.Lock]++
			variables[function], _ = g.Variable()
		}
		if g.Poll.Known {
			fds[g.Poll.FD] = true
			name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", target.PID, g.Poll.FD))
			if function != "main.pipe" || g.Poll.Write || !strings.HasPrefix(name, "pipe:") {
				t.Errorf("%s waits for descriptor %d, %s, %v", function, g.Poll.FD, name, err)
			}
		}
	}
	if len(fds) != 60 {
		t.Errorf("60 goroutines wait for %d descriptors", len(fds))
	}
	for function, variable := range map[string]string{"main.lock": "main.mutex", "main.readLock": "main.rw", "main.group": "main.waits", "main.cond": ""} {
		if len(locks[function]) != 1 || variables[function] != "" && variables[function] != variable {
			t.Errorf("%s waits for %v, %s", function, locks[function], variables[function])
		}
		for lock, n := range locks[function] {
			if n != 60 || lock.Addr == 0 {
				t.Errorf("%d in %s wait for %v", n, function, lock)
			}
		}
	}
	if len(locks) != 5 { // and main.writeLock
		t.Errorf("locks of %v", locks)
	}
}
