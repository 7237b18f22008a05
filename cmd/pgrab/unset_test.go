package main

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestNeverSet: a breakpoint that waits for its symbol to the end is reported, with names
// that resemble it, and is a failure. A breakpoint that was set and not hit is no failure.
func TestNeverSet(t *testing.T) {
	calls := ptest.BuildC(t, "calls.c")
	never := func(name string) string {
		return `^pgrab: \d+: breakpoint ` + name + ` was never set: no object that was loaded has such a function`
	}
	for _, tt := range []struct {
		flags, stderr string
		status        int
	}{
		{"-b f_push", "^$", 0},
		{"-b f_nop", "^$", 0}, // not called
		{"-b no_such_function_anywhere", never("no_such_function_anywhere") + "\n$", 1},
		{"-b F_pusj", never("F_pusj") + ` \(similar: (f_push|.*, f_push)[,)]`, 1},
		{"-b nolib.so`f_push", never("nolib.so`f_push") + "\n$", 1},
		{"-b f_push -b f_nosuchcall", never("f_nosuchcall"), 1},
		{"-b environ", never("environ"), 1}, // data
		{"-b f_pus*", "^$", 0},
		{"-b no_such*", never(`no_such\*`) + "\n$", 1},
		{"-b nolib*`f_push", never("nolib\\*`f_push") + "\n$", 1},
		{"-b *", `^pgrab: \d+: breakpoint \* not set in .*: \d+ functions match, and at most 2000 may have a breakpoint: name their object, `, 1},
	} {
		args := append(strings.Fields("-q -s none "+tt.flags+" --"), calls, "-f", "push", "-n", "3")
		r := pgrab(t, nil, args...)
		if r.status != tt.status || !regexp.MustCompile(tt.stderr).MatchString(r.stderr) {
			t.Errorf("%s: exit status %d, want %d; stderr %q, want %s", tt.flags, r.status, tt.status, r.stderr, tt.stderr)
		}
	}
	g, _ := startSpin(t)
	r := pgrab(t, nil, "-q", "-s", "none", "-t", "0.1", "-b", "nosuchfn", "-p", strconv.Itoa(g.PID))
	// A line before it may say that there are no uprobes.
	if !regexp.MustCompile("(?m)"+never("nosuchfn")).MatchString(r.stderr) || r.status != 1 {
		t.Errorf("of a process: exit status %d, stderr %q", r.status, r.stderr)
	}
}

// TestInlined: a function that exists only inlined is reported with the functions that it is in, and is a failure. One
// that exists and is also inlined is reported, and is none.
func TestInlined(t *testing.T) {
	target := ptest.BuildC(t, "testdata/inlined.c", "-g")
	for name, want := range map[string]string{
		"everywhere": `^pgrab: \d+: breakpoint everywhere was never set: it is inlined in first, second\n$`,
		"somewhere":  `^pgrab: \d+: breakpoint somewhere is not hit where the function is inlined: in first\n$`,
		"first":      `^$`,
	} {
		status := 0
		if name == "everywhere" {
			status = 1
		}
		if r := pgrab(t, nil, "-q", "-s", "none", "-b", name, "--", target); r.status != status || !regexp.MustCompile(want).MatchString(r.stderr) {
			t.Errorf("%s: exit status %d, want %d; stderr %q, want %s", name, r.status, status, r.stderr, want)
		}
	}
}

// TestNeverAtMain: a stop point that the program does not reach is reported.
func TestNeverAtMain(t *testing.T) {
	nomain := ptest.BuildC(t, "testdata/nomain.c", "-nostdlib", "-static", "-s")
	calls := ptest.BuildC(t, "calls.c", "-static", "-s")
	for _, tt := range []struct {
		argv   []string
		stderr string
	}{
		{[]string{"-s", "preinit,main", "--", nomain}, `^pgrab: \d+: never stopped at main: not reached, or the program does not show where its main is\n$`},
		{[]string{"-s", "preinit,postinit,main", "--", calls, "-n", "1"}, `^$`},
		{[]string{"-s", "preinit,postinit,main", "--", "sh", "-c", "exec true"}, `^$`},
	} {
		r := pgrab(t, nil, append([]string{"-q", "-H", "0"}, tt.argv...)...)
		if r.status != 0 || !regexp.MustCompile(tt.stderr).MatchString(r.stderr) {
			t.Errorf("%v: exit status %d, stderr %q, want %s", tt.argv, r.status, r.stderr, tt.stderr)
		}
	}
}

// TestPlaceRefused: a breakpoint that waited for an object and cannot be set in it is
// reported each time, and is a failure.
func TestPlaceRefused(t *testing.T) {
	const rounds = 2
	// Int3s are used, because in a process that has uprobes the kernel takes the int3 in the linker for a uprobe
	// of another test at that place.
	argv := []string{"-H", "0", "--trap", "int3", "-b", "plugin_sequence", "-b", "plugin_call", "--",
		ptest.BuildC(t, "dlchurn.c"), "-t", "1", "-n", strconv.Itoa(rounds), "-p", ptest.BuildC(t, "seqplugin.c", "-shared", "-fPIC")}
	const told = `breakpoint plugin_sequence not set at 0x[0-9a-f]+ in seqplugin: inside a restartable sequence`
	counted := regexp.MustCompile(`(?m)^ +\d+ +2 +\S+ +plugin_call$`)
	lines := func(prefix, text string) int {
		return len(regexp.MustCompile(`(?m)^`+prefix+told).FindAllString(text, -1))
	}

	r := pgrab(t, nil, argv...)
	if n := lines(`pid \d+: `, r.stdout); n != rounds || r.status != 1 || r.stderr != "" || !counted.MatchString(r.stdout) {
		t.Errorf("%d lines, exit status %d, stdout %q, stderr %q", n, r.status, r.stdout, r.stderr)
	}
	r = pgrab(t, nil, append([]string{"-q"}, argv...)...)
	if n := lines(`pgrab: \d+: `, r.stderr); n != rounds || r.status != 1 || !counted.MatchString(r.stdout) {
		t.Errorf("quiet: %d lines, exit status %d, stdout %q, stderr %q", n, r.status, r.stdout, r.stderr)
	}
	r = pgrab(t, nil, append([]string{"--json"}, argv...)...)
	n := 0
	for line := range strings.Lines(r.stdout) {
		var o object
		if json.Unmarshal([]byte(line), &o) == nil && o.Event == "break-refused" {
			n++
			if o.Symbol != "plugin_sequence" || o.Addr == "" || o.Object == "" || !strings.Contains(o.Reason, "restartable") {
				t.Errorf("%s", line)
			}
		}
	}
	if n != rounds || r.status != 1 {
		t.Errorf("JSON: %d events, exit status %d", n, r.status)
	}
}
