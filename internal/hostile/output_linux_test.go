package hostile_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

// TestOutputs: names of functions, threads, files and arguments that drive a terminal, or break a line, a stack or a page, do so
// in no output of any tool.
func TestOutputs(t *testing.T) {
	psample, pgrab, pcalls := build(t, "psample"), build(t, "pgrab"), build(t, "pcalls")
	for _, kind := range []string{"escapes", "nuisance names"} {
		t.Run(kind, func(t *testing.T) {
			g := attacker(t, kind)
			schedule(t, g.PID, unix.SCHED_NORMAL) // beside other tests it might not run at all while it is sampled, and have no output
			pid, dir := fmt.Sprint(g.PID), t.TempDir()
			saved := filepath.Join(dir, "p.json")
			if out, err := exec.Command(psample, "-q", "-t", "0.3", "--threads", "-o", saved, "-p", pid).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, argv := range ptest.Some(t, [][]string{
				{psample, "render", "-s", saved}, {psample, "render", "-O", "folded", saved}, {psample, "render", "-O", "json", saved},
				{psample, "render", "-O", "html", saved}, {psample, "render", "-O", "svg", saved}, {psample, "render", "-O", "speedscope", saved},
				{psample, "-ss", "-f", "-t", "0.2", "-p", pid}, {psample, "-O", "perf", "-t", "0.2", "-p", pid},
				{psample, "-O", "firefox", "-q", "-t", "0.2", "-p", pid}, {psample, "--follow", "-O", "folded", "-t", "0.2", "-p", pid},
				{pgrab, "-w", "-t", "0", "-p", pid}, {pgrab, "--json", "-w", "-t", "0", "-p", pid}, {pgrab, "-s", "none", "-b", "f*", "-t", "0.1", "-p", pid},
				{pcalls, "--list", "-p", pid, "*"}, {pcalls, "--json", "-t", "0.1", "-p", pid, "f*"}, {pcalls, "--args", "-t", "0.1", "-p", pid, "f*"},
			}, ptest.Rounds(3, 4, 100)) {
				name := filepath.Base(argv[0]) + " " + strings.Join(argv[1:], " ")
				var stdout, stderr strings.Builder
				cmd := exec.Command(argv[0], argv[1:]...)
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				cmd.Run() // what is said of a refusal counts as well
				harmless(t, name, stdout.String()+stderr.String())
				if err := parses(argv, stdout.String()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// harmless fails for a text that a terminal must not be given.
func harmless(t *testing.T, name, text string) {
	t.Helper()
	if len(text) == 0 {
		t.Errorf("%s: no output", name)
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			t.Errorf("%s: %q in %q", name, r, text[max(0, i-80):min(len(text), i+40)])
			return
		}
		i += size
	}
	if strings.Contains(name, "-O html") && (strings.Contains(text, "alert(1)</script>") || strings.Contains(text, "1</script>")) {
		t.Errorf("%s: ends a script", name)
	}
}

// parses reads what is for programs.
func parses(argv []string, out string) error {
	form := strings.TrimSuffix(strings.Join(argv[1:], " "), "p.json")
	switch {
	case strings.Contains(form, "-O svg"):
		for d := xml.NewDecoder(strings.NewReader(out)); ; {
			if _, err := d.Token(); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	case strings.Contains(form, "json"), strings.Contains(form, "speedscope"), strings.Contains(form, "firefox"):
		for d := json.NewDecoder(strings.NewReader(out)); ; {
			if err := d.Decode(new(any)); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	case strings.Contains(form, "-O folded"):
		for line := range strings.Lines(out) {
			at := strings.LastIndexByte(strings.TrimSpace(line), ' ')
			if _, err := fmt.Sscan(line[at+1:], new(int64)); at < 0 || err != nil {
				return fmt.Errorf("%q is no stack and number", line)
			}
		}
	}
	return nil
}
