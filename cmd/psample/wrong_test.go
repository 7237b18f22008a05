package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestWrongLines: a command line that is wrong is answered by what was meant.
func TestWrongLines(t *testing.T) {
	t.Parallel()
	const formats = "text, folded, pprof, speedscope, firefox, json, threadcreate, perf, html or svg"
	for _, tt := range []struct{ args, want string }{
		{"-p 1 2 3", `-p takes one argument: -p 1,2,3, or -p "$(pidof NAME)", or -p NAME`},
		{"-p 4242 sleep 10", "-p and a command (sleep) exclude each other; for that time: -t 10"},
		{"-p 4242 ./server", "-p and a command (./server) exclude each other"},
		{"-p 0", `"0" is not a process id`},
		{"-p -5", `"-5" is not a process id`},
		{"-p 99999999999999999999", `"99999999999999999999" is not a process id`},
		{"-pid 4242", `-pid is -p with the value "id": long flags have two dashes, --pid`},
		{"-p 4242 --cgroup /x", "-p 4242 and a cgroup exclude each other"},
		{"-p no-such-name", `no process has the name "no-such-name"`},
		{"-p /no/such/program", `no process executes "/no/such/program"`},
		{"--cgroup /no/such/**", `no process is in a cgroup "/no/such/**"`},
		{"", "what to profile? -p PID, -p NAME, --cgroup GLOB, a COMMAND, or --demo"},
		{"-F abc -p 1", `-F HZ: "abc" is not a number`},
		{"-F 99Hz -p 1", `-F HZ: "99Hz" is not a number`},
		{"-d 10ms -p 1", `-d MS: "10ms" is not a number`},
		{"-t 10sec -p 1", `-t DURATION: "10sec" is not a number of seconds or a duration like 1m30s`},
		{"-t 0 -p 1", `-t DURATION: "0" is not a positive duration`},
		{"-time 5 -p 1", `-time is -t with the value "ime": long flags have two dashes, --time`},
		{"--follow=maybe -p 1", `--follow takes no value, but there is "maybe"`},
		{"--folow -p 1", "there is no flag --folow (similar: --follow)"},
		{"-g -p 1", "there is no flag -g"},
		{"-O flamegraph -p 1", `unknown format "flamegraph" (similar: svg, or html): ` + formats},
		{"-O collapsed -p 1", `unknown format "collapsed" (similar: folded): ` + formats},
		{"-O pprog -p 1", `unknown format "pprog" (similar: pprof): ` + formats},
		{"--http 8080 -p 1", `--http wants HOST:PORT or :PORT, not "8080": for the port alone :8080`},
		{"--http :99999 -p 1", `--http wants a port from 0 to 65535, not "99999"`},
		{"-o", "-o needs a value: -o FILE"},
	} {
		_, err := parse(strings.Fields(tt.args))
		var said bytes.Buffer
		status := report(&said, err)
		if line, _, _ := strings.Cut(said.String(), "\n"); err == nil || status == 0 || line != "psample: "+tt.want {
			t.Errorf("psample %s: %d, %s\nwant psample: %s", tt.args, status, said.String(), tt.want)
		}
	}
	// What is found out when the command is to be started.
	dir := psampleDir(t)
	for _, tt := range []struct{ args, want string }{
		{"4242", "create 4242: executable file not found in $PATH (for process 4242: psample -p 4242)"},
		{"help", "create help: executable file not found in $PATH (for that: psample --help)"},
		{"no-such-command", "create no-such-command: executable file not found in $PATH"},
		{dir, "create " + dir + ": is a directory"},
	} {
		out, err := exec.Command(filepath.Join(dir, "psample"), tt.args).CombinedOutput()
		if err == nil || string(out) != "psample: "+tt.want+"\n" {
			t.Errorf("psample %s: %v, %s", tt.args, err, out)
		}
	}
}

// TestByName: all processes of a program are one profile.
func TestByName(t *testing.T) {
	t.Parallel()
	exe := filepath.Join(t.TempDir(), "two-of-these")
	text, err := os.ReadFile(ptest.BuildC(t, "waits.c"))
	if err == nil {
		err = os.WriteFile(exe, text, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	var pids []string
	for range 2 {
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, exe, "deadlock", "2")
		g.Ready()
		pids = append(pids, strconv.Itoa(g.PID))
	}
	for _, args := range [][]string{{"-p", "two-of-these"}, {"-p", exe, "--cgroup", "**"}, {"-p", strings.Join(pids, " ")}} {
		out, err := exec.Command(filepath.Join(psampleDir(t), "psample"), append([]string{"-t", "0.1"}, args...)...).CombinedOutput()
		if line, _, _ := strings.Cut(string(out), "\n"); err != nil || !strings.Contains(string(out), pids[0]) || !strings.Contains(string(out), pids[1]) {
			t.Errorf("%q: %v, %s, want %v", args, err, line, pids)
		}
	}
}
