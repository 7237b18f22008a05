package conf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/pctl/targets"
)

func TestParse(t *testing.T) {
	c, err := Parse([]byte(`
listen: localhost:7000
rate: 19
max_seconds: 1m
targets:
  - comm: postgres
    user: "0"
  - exe: /opt/**
    follow: true
`))
	if err != nil {
		t.Fatal(err)
	}
	rules := c.Rules()
	if c.Listen != "localhost:7000" || c.Rate != 19 || time.Duration(c.MaxSeconds) != time.Minute || len(rules) != 2 ||
		rules[0] != (targets.Rule{Comm: "postgres", User: "0"}) || rules[1] != (targets.Rule{Exe: "/opt/**", Follow: true}) {
		t.Errorf("%+v", c)
	}
	if c, err := Parse(nil); err != nil || len(c.Targets) != 0 {
		t.Errorf("empty: %+v, %v", c, err)
	}
}

// TestRefused: an error has its line.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		text string
		line int
		want string
	}{
		{"rate: 19\nsped: 3\n", 2, `unknown key "sped"`},
		{"targets:\n  - comm: a\n    colour: red\n", 3, `unknown key "colour"`},
		{"targets:\n  - comm: a\n  - follow: true\n", 3, "says nothing"},
		{"targets:\n  - comm: a\n  -\n    user: no-such-user-here\n", 4, "no-such-user-here"},
		{"targets:\n  - comm: a\n  - user: root\n    exe: '" + strings.Repeat("**a", 100000) + "'\n", 4, "a pattern of 300000 bytes; the longest has 4096"},
		{"rate: many\n", 1, "many"},
		{"listen: :1\nrate: 5000\n", 2, "5000"},
		{"max_seconds: -3\n", 1, "-3"},
		{"listen: :1\ntls:\n  cert: a\n", 2, "both"},
		{"timers: sometimes\n", 1, "sometimes"},
		{"rate: 1\nrate: 2\n", 2, "already"},
		{"rate: [\n", 1, ""},
		{"rate: .nan\n", 1, "NaN"},
		{"targets:\n  - comm: a\n  -\n", 3, "empty"},
		{"targets:\n  - comm: a\n  - pid: 1.5\n", 3, "1.5"},
		{"listen: :1\nmax_clients: 2.5\n", 2, "2.5"},
	} {
		_, err := Parse([]byte(c.text))
		var at *Error
		if !errors.As(err, &at) || at.Line != c.line || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want line %d with %q", c.text, err, c.line, c.want)
		}
	}
	if _, err := Parse([]byte("rate: 1\n---\nrate: 2\n")); err == nil {
		t.Error("two documents")
	}
}

// TestRead: errors name the file and the line.
func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte("\nsped: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.HasPrefix(err.Error(), path+":2: ") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, make([]byte, mostFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("%v", err)
	}
	if err := syscall.Mkfifo(path+".pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{path + ".pipe", filepath.Dir(path), os.DevNull} { // nothing is waited for
		if _, err := Read(other); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", other, err)
		}
	}
	if _, err := Read(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("targets:\n  - comm: a\n    follow: true\nrate: 3\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("targets: {}\ntls: {cert: 1}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		for _, r := range c.Rules() {
			if err := r.Check(); err != nil {
				t.Errorf("%+v: %v", r, err)
			}
		}
	})
}
