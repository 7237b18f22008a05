package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// TestFollow: calls of the children of a command and theirs are counted, to the call, and of those that execute the program again. Those of a process of
// the same program that is no child are not. A call ends in the process in which it has begun, not in a child that was forked in it. With stacks those
// that execute the program again are not counted.
func TestFollow(t *testing.T) {
	uprobe.NeedLinks(t)
	program := ptest.BuildC(t, "brood.c")
	stranger := ptest.Start(t, program, "1000000", "10", "wait")
	stranger.Ready()
	io.WriteString(stranger.Stdin, "\n")
	const each = 20
	children := ptest.Rounds(40, 400, 4000)
	processes, killed := 1+2*children, (children+4)/5
	executed := (children + 7) / 8
	for _, c := range []struct {
		options  []string
		executed int // whose calls are counted
		text     string
	}{
		{nil, executed, "of which calls of the same files are counted"},
		{[]string{"--by", "caller"}, 0, "whose calls are not counted"},
	} {
		want := map[string][2]int{ // begun and returned
			"work":   {each*(processes+c.executed) + killed, each * (processes + c.executed)},
			"branch": {children, children},
		}
		var out, said strings.Builder
		argv := append(append([]string{"--follow", "--json"}, c.options...), "a.out`work", "a.out`branch", "--", program, fmt.Sprint(children), fmt.Sprint(each))
		if code := run(context.Background(), argv, &out, &said); code != 0 {
			t.Fatalf("status %d: %s", code, &said)
		}
		checkCounts(t, out.String(), want)
		if text := fmt.Sprintf("%d processes have executed other programs, %s", executed, c.text); !strings.Contains(said.String(), text) {
			t.Errorf("not said: %s\n%s", text, &said)
		}
	}
	stranger.Kill()
	if !t.Failed() {
		t.Logf("fact: calls of children (pcalls --follow): all of %d processes", processes)
	}
}

// TestFollowNames: processes and threads have their numbers and names also when they have ended.
func TestFollowNames(t *testing.T) {
	uprobe.NeedLinks(t)
	const children, each = 10, 5
	program := ptest.BuildC(t, "brood.c")
	for _, by := range []string{"process", "thread"} {
		var out, said strings.Builder
		argv := []string{"--follow", "--by", by, "--json", "a.out`work", "--", program, fmt.Sprint(children), fmt.Sprint(each)}
		if code := run(context.Background(), argv, &out, &said); code != 0 {
			t.Fatalf("status %d: %s", code, &said)
		}
		keys := map[string]bool{}
		for text := range strings.Lines(out.String()) {
			var l struct{ Key string }
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				t.Fatal(err)
			}
			var pid int
			var name string
			if n, _ := fmt.Sscan(l.Key, &pid, &name); n != 2 || name != filepath.Base(program)[:min(15, len(filepath.Base(program)))] {
				t.Errorf("by %s: %s", by, text)
			}
			keys[l.Key] = true
		}
		if len(keys) != 1+2*children {
			t.Errorf("by %s: %d keys", by, len(keys))
		}
	}
}

// TestFollowReuse: the number of a process that has died in a call is another one's, which returns from the same function at the same place of its
// stack. That is not the end of the call.
func TestFollowReuse(t *testing.T) {
	uprobe.NeedLinks(t)
	if os.Geteuid() != 0 {
		t.Skip("choosing the number of the next process is for root")
	}
	var out, said strings.Builder
	if code := run(context.Background(), []string{"--follow", "--json", "a.out`inner", "--", ptest.BuildC(t, "brood.c"), "reuse"}, &out, &said); code != 0 {
		t.Fatalf("status %d: %s", code, &said)
	}
	checkCounts(t, out.String(), map[string][2]int{"inner": {2, 1}})
}

// TestFollowTree: processes that have calls at the same places of their stacks at the same time are not taken for each other.
func TestFollowTree(t *testing.T) {
	uprobe.NeedLinks(t)
	const children, each = 8, 50
	var out, said strings.Builder
	argv := []string{"--follow", "--tree", "--json", "a.out`outer", "a.out`within", "--", ptest.BuildC(t, "brood.c"), "nest", fmt.Sprint(children), fmt.Sprint(each)}
	if code := run(context.Background(), argv, &out, &said); code != 0 {
		t.Fatalf("status %d: %s", code, &said)
	}
	checkCounts(t, out.String(), map[string][2]int{"outer": {children * each, children * each}, "within": {children * each, children * each}})
	type line struct {
		Function string
		Self     *int64 `json:"self_ns"`
		Sum      int64  `json:"sum_ns"`
	}
	of := map[string]line{}
	for text := range strings.Lines(out.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		of[l.Function] = l
	}
	if o := of["outer"]; o.Self == nil || *o.Self != o.Sum-of["within"].Sum {
		t.Errorf("the time of outer without that of within is wrong:\n%s", &out)
	}
}

// checkCounts compares how many calls of functions have begun and returned.
func checkCounts(t *testing.T, out string, want map[string][2]int) {
	t.Helper()
	got := map[string][2]int{}
	for line := range strings.Lines(out) {
		var r struct {
			Function        string
			Calls, Returned int
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		sum := got[r.Function]
		got[r.Function] = [2]int{sum[0] + r.Calls, sum[1] + r.Returned}
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s: %d calls, %d returned; want %d, %d\n%s", name, got[name][0], got[name][1], n[0], n[1], out)
		}
	}
}
