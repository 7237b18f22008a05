package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestGoroutines: pgrab -w shows the goroutines of a Go program without a stop, those with the same stack together.
func TestGoroutines(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true, Env: []string{"GODEBUG=tracebackancestors=2"}}, ptest.BuildGo(t, "goroutines.go"), "-n", "3", "-plain", "50")
	g.Until("ready")
	pid := fmt.Sprint(g.PID)
	check := func(r result, want ...string) {
		t.Helper()
		if r.status != 0 || r.stderr != "" {
			t.Errorf("status %d, %s", r.status, r.stderr)
		}
		for _, w := range want {
			if !regexp.MustCompile(strings.ReplaceAll(w, "PID", pid)).MatchString(r.stdout) {
				t.Errorf("no %s in\n%s", w, r.stdout)
			}
		}
	}
	var r result
	g.WaitFor("goroutines that stand still", func() bool { // one may say that it is ready, and wait for a processor yet
		r = pgrab(t, nil, "-w", "-p", pid)
		return !regexp.MustCompile(`(?m)^pid.*(goroutine \d+|goroutines), (running|runnable|changing)`).MatchString(r.stdout)
	})
	check(r,
		`^pid PID: 5\d goroutines, chan receive(, at least \d.* s)?: \d+.*\n    waits for channel 0x\w+\n    #0   0x\w+  main.receive\+0x\w+ in goroutines\S*\n`,
		`(?m)^pid PID: 3 goroutines, sync.RWMutex.RLock`, `, sleep[^\n]*\n    sleep for \d+m\S+ to \d+m\S+ more\n`,
		`(?m)^    waits for mutex 0x\w+ \(main.mutex\)$`, `(?m)^    waits to read from fd \d+ \(pipe:\[\d+\]\), written by pid PID \(goroutines\S*\)$`,
		`(?m)^pid PID: 3 goroutines, chan receive[^#]*    labels request=r1 user=u\\x0a1$`,
		`(?m)^pid PID: 2 goroutines, chan receive.*, 2 locked to threads: \d+-\d+$`,
		`(?m)^pid PID: \d+ goroutines of Go's runtime: .*GC worker \(idle\)`,
		`(?m)^pid PID: \d+ threads: --threads shows their stacks$`)
	if strings.Contains(r.stdout, "grabbed") || strings.Contains(r.stdout, "runtime.gopark") {
		t.Errorf("it was stopped, or internals are shown:\n%s", r.stdout)
	}
	check(pgrab(t, nil, "-wv", "-p", pid), `runtime.gopark\+0x\w+ in goroutines\S* at .*/proc.go:\d+\n`, `created by main.main in goroutine 1 at .*goroutines.go:\d+\n    originating from goroutine 1\n    #0 `,
		`-- ancestors differ \(--each shows them\)`)
	check(pgrab(t, nil, "--each", "-p", pid), `^pid PID: goroutine 1, .*\n`, `(?m)^pid PID: goroutine \d+, sleep`)
	check(pgrab(t, nil, "--go", "-p", pid), `^goroutine 1 \[.*\]:\n`, `(?m)^goroutine \d+ \[select.*\]:\nmain.choose\(\.\.\.\)\n\t\S+goroutines.go:\d+ \+0x\w+\ncreated by main.main in goroutine 1\n\t\S+:\d+ \+0x\w+\n\[originating from goroutine 1\]:\nmain.main\(\.\.\.\)\n\t\S+:\d+ \+0x\w+\n\n`)
	objects := 0
	for line := range strings.Lines(pgrab(t, nil, "--go", "--json", "-p", pid).stdout) {
		var o goObject
		if err := json.Unmarshal([]byte(line), &o); err != nil || o.Event != "goroutine" || o.PID != g.PID {
			t.Fatalf("%v: %s", err, line)
		}
		switch o.State {
		case "sync.WaitGroup.Wait":
			if o.Lock == nil || o.Lock.Variable != "main.waits" || len(o.Stack) < 4 || o.CreatedBy[0].Func != "main.main" || o.Parent != 1 {
				t.Errorf("%s", line)
			}
			objects++
		case "IO wait":
			if o.FD == nil || *o.FD < 3 || o.Write {
				t.Errorf("%s", line)
			}
			objects++
		}
		if len(o.Ancestors) == 2 && o.Ancestors[0].Goroutine == o.Parent && o.Ancestors[0].Elided && o.Ancestors[1].CreatedBy[0].Func == "main.main" {
			objects++
		}
		if o.Labels["request"] == "r1" {
			objects++
		}
	}
	if objects != 12 {
		t.Errorf("%d objects that were looked at", objects)
	}
	check(pgrab(t, nil, "--threads", "-p", pid), `^pid PID: grabbed`, `(?m)^pid PID: released`)
	check(pgrab(t, nil, "-w", "-s", "grab", "-H", "0", "-t", "0", "-p", pid), `^pid PID: grabbed`)
}

// TestGoroutinesOfNone: a program that is none of Go's has threads, and --go says so.
func TestGoroutinesOfNone(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "idle.c"))
	g.Ready()
	pid := fmt.Sprint(g.PID)
	if r := pgrab(t, nil, "-w", "-p", pid); r.status != 0 || r.stderr != "" || !strings.Contains(r.stdout, "grabbed") {
		t.Errorf("%+v", r)
	}
	if r := pgrab(t, nil, "--go", "-p", pid); r.status != 1 || r.stderr != "pgrab: goroutines "+pid+": process runs no Go program (-w shows its threads)\n" || r.stdout != "" {
		t.Errorf("%+v", r)
	}
}
