package main

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestWrongLines: a command line that is wrong is answered by what was meant.
func TestWrongLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"-p 1 2 3", `-p takes one argument: -p 1,2,3, or -p "$(pidof NAME)", or -p NAME`},
		{"-p 4242 ls", "-p and a command (ls) exclude each other"},
		{"", "a process id or a command is needed: -p PID, -p NAME, --cgroup GLOB or -- COMMAND"},
		{"-p no-such-name", `no process has the name "no-such-name"`},
		{"-b libc.so.6:malloc -p 1", "breakpoint \"libc.so.6:malloc\": an object and its symbol are written 'libc.so.6`malloc'"},
		{"-b 401000 -p 1", `breakpoint "401000" is no symbol; an address is 0x401000`},
		{"-b main.c:12+4 -p 1", `breakpoint "main.c:12+4": a line has no offset; an instruction is SYMBOL+OFFSET or 0xADDRESS`},
		{"-b main.c:0 -p 1", `breakpoint "main.c:0": 0 is no number of a line`},
		{"-s man -p 1", `"man" is no stop point: grab, create, exec, preinit, postinit, main or none`},
		{"-H soon -p 1", `--hold: "soon" is no duration (500ms, 2s, 1m30s)`},
		{"-e detach -p 1", `"detach" is no release mode: run, kill or stop`},
		{"--wher -p 1", "there is no flag --wher (similar: --where)"},
		{"-b", "-b needs a value: -b WHERE"},
	} {
		_, err := parse(strings.Fields(tt.args))
		var said bytes.Buffer
		status := report(&said, err)
		if line, _, _ := strings.Cut(said.String(), "\n"); err == nil || status == 0 || line != "pgrab: "+tt.want {
			t.Errorf("pgrab %s: %d, %s\nwant pgrab: %s", tt.args, status, said.String(), tt.want)
		}
	}
	for arg, want := range map[string]string{
		"4242": "create 4242: executable file not found in $PATH (for process 4242: pgrab -p 4242)",
		"help": "create help: executable file not found in $PATH (for that: pgrab --help)",
	} {
		if r := pgrab(t, nil, arg); r.status != 127 || r.stderr != "pgrab: "+want+"\n" {
			t.Errorf("pgrab %s: %d, %q", arg, r.status, r.stderr)
		}
	}
}

// TestWrongBreakpoints: the same of breakpoints, which only the symbols of the program show.
func TestWrongBreakpoints(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "../../internal/sample/testdata/locks.cc"), "ring", "2")
	g.Ready()
	never := ` was never set: no object that was loaded has such a function \(`
	for where, want := range map[string]string{
		"member(long,":   regexp.QuoteMeta("breakpoint member(long,") + never + `member without parameters is all functions of that name\)`,
		"locks:main":     "breakpoint locks:main" + never + "an object and its symbol are written 'locks`main'\\)",
		"libc.so.6!free": "breakpoint libc.so.6!free" + never + "an object and its symbol are written 'libc.so.6`free'\\)",
		"0x1000":         "break 0x1000 .*nothing is mapped there \\(an address is one of the running process; in a file it is SYMBOL\\+OFFSET\\)",
	} {
		r := pgrab(t, nil, "-q", "-s", "none", "-t", "0.01", "-b", where, "-p", strconv.Itoa(g.PID))
		if r.status != 1 || !regexp.MustCompile(want).MatchString(r.stderr) {
			t.Errorf("-b %s: %d, %q, want %s", where, r.status, r.stderr, want)
		}
	}
}

// TestByName: processes are grabbed by their name, that of their program and its path.
func TestByName(t *testing.T) {
	t.Parallel()
	exe := ptest.BuildC(t, "waits.c")
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, exe, "deadlock", "2")
	g.Ready()
	pid := strconv.Itoa(g.PID)
	grabbed := "pid " + pid + ": grabbed (3 threads)"
	for _, args := range [][]string{{"-p", "waits"}, {"-p", "wai?s"}, {"-p", exe}, {"-p", pid + " " + pid}, {"-p", "waits", "--cgroup", "**"}} {
		r := pgrab(t, nil, append([]string{"-s", "none", "-t", "0"}, args...)...)
		if strings.Count(r.stdout, grabbed) != 1 || r.status != 0 && args[1] == exe {
			t.Errorf("%q: %d, %q, %q", args, r.status, r.stdout, r.stderr)
		}
	}
}
