package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRender: a profile that was saved is shown in each format, in part, and beside another one. What does not go is said.
func TestRender(t *testing.T) {
	dir := t.TempDir()
	psample := func(args ...string) (string, string, error) {
		cmd := exec.Command(filepath.Join(psampleDir(t), "psample"), args...)
		cmd.Dir = dir
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		return string(out), said.String(), err
	}
	for _, file := range []string{"a.json", "b.pb.gz"} {
		if _, said, err := psample("-q", "-t", "2", "-o", file, "--demo"); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	for _, c := range []struct {
		args, want string
	}{
		{"render a.json", ".fifty"},
		{"render -s b.pb.gz", "cpu total"},
		{"render b.pb.gz --value wall -O folded", ".fifty"},
		{"render -O svg a.json", "<svg"},
		{"render -O html a.json", ".fifty"},
		{"render -O speedscope a.json", ".fifty"},
		{"render -O json b.pb.gz", `"version":1`},
		{"render -O perf a.json", "cpu-clock"},
		{"render --include [.]twenty$ -O folded a.json", ".twenty"},
		{"render --diff b.pb.gz a.json", "change"},
		{"render --diff a.json -O html b.pb.gz", `"compared":true`},
		{"-q -t 1 --diff a.json --demo", "change"},
		{"-q -t 2 --exclude [.]fifty --demo", "only stacks without [.]fifty"},
	} {
		out, said, err := psample(strings.Fields(c.args)...)
		if err != nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v, %s; no %q in:\n%s", c.args, err, said, c.want, out[:min(len(out), 1000)])
		}
		if strings.Contains(c.args, "--include") && strings.Contains(out, ".fifty") {
			t.Errorf("%s:\n%s", c.args, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "none"), []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"render":                                "render which profile?",
		"render a.json b.pb.gz":                 "two are compared by",
		"render -p 1 a.json":                    "--pid means nothing",
		"render nosuch":                         "nosuch: no such file",
		"render none":                           "none: neither a profile in JSON nor one of pprof",
		"render -O threadcreate a.json":         "does not count threads created",
		"render --include ( a.json":             "wants a regular expression",
		"render --diff a.json -O pprof b.pb.gz": "shows one profile",
		"--diff nosuch -p 1":                    "nosuch: no such file",
		"--top --include x -p 1":                "give -o FILE",
		"--blame --diff a.json -p 1":            "are for time",
		"render -ss a.json":                     "no single samples",
	} {
		out, said, err := psample(strings.Fields(args)...)
		if err == nil || !strings.Contains(said, want) || out != "" {
			t.Errorf("%s: %v, %q, %q", args, err, said, out)
		}
	}
}
