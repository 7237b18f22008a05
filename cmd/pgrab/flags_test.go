package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ptools/internal/usage"
	"ptools/pctl"
)

func TestParse(t *testing.T) {
	forever := time.Duration(-1)
	for _, tt := range []struct {
		args string
		want options
	}{
		{"-p 1", options{pids: []int{1}, stop: []pctl.Point{pctl.PointGrab}, hold: forever, limit: forever}},
		{"-p1,2 --pid=3 -p 2", options{pids: []int{1, 2, 3}, stop: []pctl.Point{pctl.PointGrab}, hold: forever, limit: forever}},
		{"-s none -t 0 -p 1", options{pids: []int{1}, hold: forever}},
		{"-H 500ms -t 1.5 -p 1", options{pids: []int{1}, stop: []pctl.Point{pctl.PointGrab}, hold: 500 * time.Millisecond, limit: 1500 * time.Millisecond}},
		{"-s exec,main --stop preinit -e stop -p 1", options{
			pids: []int{1}, stop: []pctl.Point{pctl.PointExec, pctl.PointMain, pctl.PointPreinit},
			hold: forever, limit: forever, release: pctl.ModeStop,
		}},
		{"-b malloc -b libc.so.6`free+4 -wqp 1", options{
			pids: []int{1}, stop: []pctl.Point{pctl.PointGrab}, limit: forever, stacks: groupedStacks, detail: detailResults,
			breaks: []pctl.Where{{Symbol: "malloc"}, {Object: "libc.so.6", Symbol: "free", Offset: 4}},
		}},
		{"-b mall* -b lib*`f?o -wqp 1", options{
			pids: []int{1}, stop: []pctl.Point{pctl.PointGrab}, limit: forever, stacks: groupedStacks, detail: detailResults,
			breaks: []pctl.Where{{Symbol: "mall*"}, {Object: "lib*", Symbol: "f?o"}},
		}},
		{"ls -l -p", options{command: []string{"ls", "-l", "-p"}, stop: []pctl.Point{pctl.PointCreate}, hold: forever, limit: forever, release: pctl.ModeKill}},
		{"--json -v -e run -- -odd", options{
			command: []string{"-odd"}, stop: []pctl.Point{pctl.PointCreate}, hold: forever, limit: forever, form: formJSON, detail: detailAll,
		}},
		{"-w -p 1", options{pids: []int{1}, stop: []pctl.Point{pctl.PointGrab}, stacks: groupedStacks, goroutines: groupedGoroutines}},
		{"--each -p 1", options{pids: []int{1}, stop: []pctl.Point{pctl.PointGrab}, stacks: eachStack, goroutines: eachGoroutine}},
		{"--go -p 1", options{pids: []int{1}, stop: []pctl.Point{pctl.PointGrab}, stacks: groupedStacks, goroutines: goTrace}},
		{"--go --json -p 1", options{pids: []int{1}, stop: []pctl.Point{pctl.PointGrab}, stacks: groupedStacks, goroutines: goTrace, form: formJSON}},
		{"--threads -p 1", options{pids: []int{1}, stop: []pctl.Point{pctl.PointGrab}, stacks: groupedStacks}},
		{"-w --json -p 1", options{pids: []int{1}, stop: []pctl.Point{pctl.PointGrab}, stacks: groupedStacks, form: formJSON}},
		{"-w -t 1 -p 1", options{pids: []int{1}, stop: []pctl.Point{pctl.PointGrab}, hold: forever, limit: time.Second, stacks: groupedStacks}},
		{"-w -s grab -p 1", options{pids: []int{1}, stop: []pctl.Point{pctl.PointGrab}, hold: forever, limit: forever, stacks: groupedStacks}},
		{"-w -H 1 -p 1", options{pids: []int{1}, stop: []pctl.Point{pctl.PointGrab}, hold: time.Second, limit: forever, stacks: groupedStacks}},
		{"-w ls", options{command: []string{"ls"}, stop: []pctl.Point{pctl.PointCreate}, hold: forever, limit: forever, release: pctl.ModeKill, stacks: groupedStacks}},
		{"-s none --debug -p 1", options{pids: []int{1}, hold: forever, limit: forever, debug: true}},
	} {
		got, err := parse(strings.Fields(tt.args))
		if err != nil {
			t.Errorf("pgrab %s: %v", tt.args, err)
			continue
		}
		if len(got.command) == 0 {
			got.command = nil
		}
		if d := cmp.Diff(tt.want, *got, cmp.AllowUnexported(options{})); d != "" {
			t.Errorf("pgrab %s (-want +got):\n%s", tt.args, d)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, args := range []string{
		"", "-p", "-p 0", "-p -4", "-p -x", "-p 1,", "-p 1 ls", "-s bogus -p 1", "-s none,grab -p 1",
		"-H soon -p 1", "-t -1s -p 1", "-b 0xzz -p 1", "-e maybe -p 1", "--no-such -p 1", "-z", "-q -v -p 1",
		"--go ls", "--go -s grab -p 1", "--go --threads -p 1", "--go -b malloc -p 1", "--go -t 1 -p 1",
		"-s create -p 1", "-s main,grab ls", "-H= -p 1", "-t= -p 1", "--release= -p 1", "--trap= -p 1",
	} {
		_, err := parse(strings.Fields(args))
		var wrong usage.Error
		if !errors.As(err, &wrong) {
			t.Errorf("pgrab %s: %v; want a usage error", args, err)
			continue
		}
		var out strings.Builder
		if code := report(&out, err); code != 2 {
			t.Errorf("pgrab %s: exit status %d", args, code)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 2 || lines[1] != "try 'pgrab --help'" {
			t.Errorf("pgrab %s prints %q", args, out.String())
		}
	}
}

// TestUnknownPoint: every word of --stop is in the error of an unknown one.
func TestUnknownPoint(t *testing.T) {
	_, err := parse([]string{"-s", "bogus", "-p", "1"})
	if err == nil {
		t.Fatal("no error")
	}
	for word := range points {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v: %s is not told", err, word)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, arg := range []string{"-h", "--help"} {
		_, err := parse([]string{arg})
		text, ok := errors.AsType[usage.Text](err)
		if !ok {
			t.Errorf("%s: %v", arg, err)
		}
		out := string(text)
		for _, want := range []string{"usage: pgrab", "--release", "examples:", "%!"} {
			if strings.Contains(out, want) != (want != "%!") {
				t.Errorf("%s: %q in the usage is wrong:\n%s", arg, want, out)
			}
		}
		if i := slices.IndexFunc(strings.Split(out, "\n"), func(l string) bool { return len(l) > 100 }); i >= 0 {
			t.Errorf("line %d of the usage is too long", i)
		}
	}
}

// TestAbout: version, man page and completions.
func TestAbout(t *testing.T) {
	for args, want := range map[string]string{
		"--version": "pgrab ", "--print=man": "\n.TH PGRAB 1", "--print=bash": "-e|--release) COMPREPLY=($(compgen -W \"run kill stop\"", "--print=fish": "-l trap",
	} {
		_, err := parse([]string{args})
		if text, ok := errors.AsType[usage.Text](err); !ok || !strings.Contains("\n"+string(text), want) {
			t.Errorf("%s: %v, %s", args, err, text)
		}
	}
	if _, err := parse([]string{"--print", "csh"}); err == nil || !strings.Contains(err.Error(), `not "csh"`) {
		t.Errorf("csh: %v", err)
	}
}
