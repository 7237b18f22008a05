package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestDeadlock: pgrab -w says what each thread waits for and which thread holds it, and names the
// cycle.
func TestDeadlock(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "waits.c"), "deadlock", "3")
	g.Ready()
	r := pgrab(t, nil, "-w", "-p", strconv.Itoa(g.PID))
	lines := regexp.MustCompile(`(?m)^    (?:tid \d+ \(waits\) )?waits for mutex 0x\w+ \(ring(\+\d+)? in waits.*\) held by tid \d+ \(waits\)$`).FindAllString(r.stdout, -1)
	if len(lines) != 3 {
		t.Errorf("%d threads wait for a mutex:\n%s", len(lines), r.stdout)
	}
	all := regexp.MustCompile(`(?m)^pid \d+: deadlock of 3 threads:( tid \d+ waits for mutex [^;\n]* held by tid \d+ \(waits\), in member at waits.c:\d+;?){3}$`)
	if !all.MatchString(r.stdout) {
		t.Errorf("no deadlock:\n%s", r.stdout)
	}

	r = pgrab(t, nil, "-w", "-t", "0", "--json", "-p", strconv.Itoa(g.PID))
	found := 0
	for line := range strings.Lines(r.stdout) {
		var o object
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err)
		}
		switch {
		case len(o.Deadlock) == 3:
			found++
		case o.Wait != nil && o.Wait.Kind == "lock":
			if o.Wait.Lock != "mutex" || o.Wait.Owner == 0 || o.Wait.Symbol != "ring" {
				t.Errorf("%s", line)
			}
			found++
		}
	}
	if found != 4 {
		t.Errorf("%d lines of four:\n%s", found, r.stdout)
	}
}

// TestDeadlockOfCXX: std::mutex is a mutex of the C library, and the line shown is that of the function that locks
// it.
func TestDeadlockOfCXX(t *testing.T) {
	for _, n := range []int{2, 5} {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "../../internal/sample/testdata/locks.cc"), "ring", strconv.Itoa(n))
		g.Ready()
		r := pgrab(t, nil, "-w", "-p", strconv.Itoa(g.PID))
		all := regexp.MustCompile(fmt.Sprintf(`(?m)^pid \d+: deadlock of %d threads:( tid \d+ waits for mutex 0x\w+ \(ring(\+\d+)? in locks\) held by tid \d+ \(member\), in member\(int, int\) at locks.cc:\d+;?){%[1]d}$`, n))
		if !all.MatchString(r.stdout) {
			t.Errorf("no deadlock of %d:\n%s", n, r.stdout)
		}
	}
}

// TestGroups: threads with the same stack are shown together, the largest group first, and --each shows each. The process runs
// as soon as it has been looked at.
func TestGroups(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "waits.c"), "crowd", "200")
	g.Ready()
	pid := strconv.Itoa(g.PID)
	p := startPgrab(t, "-w", "-p", pid) // whose input does not end
	out, state := p.Finish()
	if !state.Success() {
		t.Errorf("%v", state)
	}
	group := regexp.MustCompile(`^pid \d+: grabbed \(201 threads\), stopped at grab\npid \d+: 200 threads in futex: tid \d+[-\d]+ \(normal\).*\n` +
		`    waits for mutex 0x\w+ \(normal in waits.*\) held by tid ` + pid + ` \(waits\)\n    #0 (?s).*\npid ` + pid + `: released, running\n$`)
	if stacks := strings.Count(out, "    #0 "); stacks != 2 || !group.MatchString(out) {
		t.Errorf("%d stacks:\n%s", stacks, out)
	}
	expectFree(t, g, "S")
	if r := pgrab(t, nil, "--each", "-p", pid); strings.Count(r.stdout, "    #0 ") != 201 {
		t.Errorf("--each:\n%s", r.stdout)
	}
}
