package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrongLines: a command line or a file that is wrong is answered by what was meant, with file and line.
func TestWrongLines(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"4242", `unexpected argument "4242": processes are named by -p, --cgroup and -m, as -p 4242`},
		{"-p 1 2", `-p takes one argument: -p 1,2, or -p "$(pidof NAME)", or -p NAME`},
		{"-m postgres", `-m postgres: "postgres" is not of the form comm=NAME, exe=GLOB, cgroup=GLOB or user=NAME; -p postgres is for a name`},
		{"-m com=postgres", `-m com=postgres: unknown key "com": comm, exe, cgroup or user`},
		{"-m user=no-such-user", `-m user=no-such-user: there is no user "no-such-user"`},
		{"-l 99 -p 1", `--listen wants HOST:PORT or :PORT, not "99": for the port alone :99`},
		{"-F abc -p 1", `-F HZ: "abc" is not a number`},
		{"--max-clients many -p 1", `--max-clients N: "many" is not a whole number`},
	} {
		var out, errs bytes.Buffer
		if status := run(t.Context(), strings.Fields(tt.args), &out, &errs); status != 2 || errs.String() != "psampled: "+tt.want+"\ntry 'psampled --help'\n" {
			t.Errorf("psampled %s: %d, %swant psampled: %s", tt.args, status, errs.String(), tt.want)
		}
	}
	for _, tt := range []struct{ text, want string }{
		{"listen: 99", `1: listen wants HOST:PORT or :PORT, not "99": for the port alone :99`},
		{"rate: 99\nlisten: localhost:x", `2: listen wants a port from 0 to 65535, not "x"`},
		{"rate: often", `1: there is "often" where a number is expected`},
		{"targets: 5", `1: there is "5" where a list of rules (- comm: postgres) is expected`},
		{"targets:\n  comm: x", `2: there is keys where a list of rules (- comm: postgres) is expected`},
		{"targets:\n  - comm: x\n    follow: maybe", `3: there is "maybe" where true or false is expected`},
		{"targets:\n  - com: x", `2: unknown key "com"`},
		{"targets:\n  - postgres", `2: there is "postgres" where a rule (comm: postgres) is expected`},
		{"push: https://x", `1: there is "https://x" where keys below it (url: https://…) is expected`},
		{"\tlisten: x", `1: a tab, or another character that cannot begin a value; lines are indented by blanks`},
		{"listen: [a", `1: did not find expected ',' or ']'`},
		{"port: 6070", `1: unknown key "port"`},
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(tt.text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		if status := run(t.Context(), []string{"-p", "1", "-c", file}, &out, &errs); status != 1 || errs.String() != "psampled: "+file+":"+tt.want+"\n" {
			t.Errorf("%q: %d, %swant %s", tt.text, status, errs.String(), tt.want)
		}
	}
}
