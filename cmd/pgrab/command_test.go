package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

func TestCommandStatus(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "not-executable")
	if err := os.WriteFile(script, []byte("exit 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		command []string
		status  int
	}{
		{[]string{"true"}, 0},
		{[]string{"sh", "-c", "exit 3"}, 3},
		{[]string{"sh", "-c", "kill -TERM $$"}, 128 + 15},
		{[]string{"sh", "-c", "kill -KILL $$"}, 128 + 9},
		{[]string{filepath.Join(dir, "nothing")}, 127},
		{[]string{"no-such-command-anywhere"}, 127},
		{[]string{script}, 126},
		{[]string{dir}, 126},
	} {
		r := pgrab(t, nil, append([]string{"-q", "-H", "0", "--"}, tt.command...)...)
		if r.status != tt.status || r.stdout != "" {
			t.Errorf("%q: exit status %d, want %d; stdout %q", tt.command, r.status, tt.status, r.stdout)
		}
		if started := tt.status != 126 && tt.status != 127; started != (r.stderr == "") ||
			strings.Count(r.stderr, "\n") > 1 {
			t.Errorf("%q: stderr %q", tt.command, r.stderr)
		}
	}
}

// TestCommandIsUndisturbed: it has the streams, arguments, environment and
// signal dispositions that a shell would have given it.
func TestCommandIsUndisturbed(t *testing.T) {
	const look = `echo "$1" "$FROM_TEST"; cat; grep -E '^Sig(Blk|Ign|Cgt)|^ShdPnd|^TracerPid' /proc/self/status >&2`
	run := func(argv ...string) (string, string) {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "FROM_TEST=yes")
		cmd.Stdin = strings.NewReader("\nthe input\n")
		r := runCommand(t, cmd)
		if r.status != 0 {
			t.Fatalf("%q: exit status %d, stderr %q", argv, r.status, r.stderr)
		}
		return r.stdout, regexp.MustCompile(`TracerPid:\t[0-9]+`).ReplaceAllString(r.stderr, "")
	}
	out, errs := run("sh", "-c", look, "sh", "an argument")
	gout, gerrs := run(pgrabPath(t), "-q", "sh", "-c", look, "sh", "an argument")
	// pgrab takes one line to continue from the create rendezvous; the rest is
	// the command's.
	if want := strings.Replace(out, "\n\n", "\n", 1); gout != want {
		t.Errorf("under pgrab it prints %q, want %q", gout, want)
	}
	if gerrs != errs {
		t.Errorf("its signals under pgrab:\n%s\nand alone:\n%s", gerrs, errs)
	}
}

// TestPoints: each rendezvous is announced once, in order, and the program's
// output is in its right place between them.
func TestPoints(t *testing.T) {
	points := "create,exec,preinit,postinit,main"
	story := "create,exec,preinit,constructor,postinit,main,main,destructor"
	for _, flags := range [][]string{nil, {"-static"}, {"-no-pie"}, {"-static-pie"}} {
		exe := ptest.BuildC(t, "ctors.c", flags...)
		r := pgrab(t, nil, "--json", "-s", points, "-H", "0", "--", exe)
		var got []string
		for line := range strings.Lines(r.stdout) {
			var o object
			if err := json.Unmarshal([]byte(line), &o); err != nil {
				got = append(got, strings.TrimSpace(line)) // the program's own
			} else if o.Event == "stopped" {
				got = append(got, o.Point)
			}
		}
		if s := strings.Join(got, ","); s != story {
			t.Errorf("%v: %s, want %s", flags, s, story)
		}
	}
}

// TestBreakpointLines counts and prints hits, with stacks if they are wanted.
func TestBreakpointLines(t *testing.T) {
	const calls = 50
	exe := ptest.BuildC(t, "calls.c")
	argv := []string{"-H", "0", "-b", "f_push", "--", exe, "-t", "2", "-f", "push", "-n", strconv.Itoa(calls)}

	r := pgrab(t, nil, argv...)
	hit := regexp.MustCompile(`(?m)^pid \d+: tid \d+ hit f_push\+0 in calls \(hit (\d+)\)$`)
	lines := hit.FindAllStringSubmatch(r.stdout, -1)
	if len(lines) != calls {
		t.Errorf("%d hit lines, want %d", len(lines), calls)
	}
	for i, m := range lines {
		if m[1] != strconv.Itoa(i+1) {
			t.Errorf("hit line %d says %s", i+1, m[1])
			break
		}
	}
	table := regexp.MustCompile(`(?m)^ +pid +hits +address +breakpoint\n +\d+ +50 +(0x[0-9a-f]+|-) +f_push$`)
	if !table.MatchString(r.stdout) {
		t.Errorf("no table of counts")
	}

	r = pgrab(t, nil, append([]string{"-q"}, argv...)...)
	if !table.MatchString(r.stdout) || hit.MatchString(r.stdout) {
		t.Errorf("quiet: %q", r.stdout)
	}

	r = pgrab(t, nil, append([]string{"-q", "-w"}, argv...)...)
	stack := regexp.MustCompile(`(?m)\(hit \d+\)\n    #0 +0x[0-9a-f]+  f_push\+0x0 in calls.*\n    #1 .*call`)
	if n := len(stack.FindAllString(r.stdout, -1)); n != calls {
		t.Errorf("%d stacks of hits, want %d", n, calls)
	}

	r = pgrab(t, nil, append([]string{"--json", "-w"}, argv...)...)
	hits, final := 0, uint64(0)
	for _, line := range strings.Split(strings.TrimSpace(r.stdout), "\n") {
		var o object
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			continue // the program's own line
		}
		switch o.Event {
		case "hit":
			hits++
			if o.Symbol != "f_push" || len(o.Stack) < 2 || o.Stack[0].Func != "f_push" || o.TID == 0 || o.Addr == "" {
				t.Fatalf("hit %s", line)
			}
		case "breakpoint":
			final = *o.Hits
		}
	}
	if hits != calls || final != calls {
		t.Errorf("JSON: %d hits, %d in the end, want %d", hits, final, calls)
	}
}

// TestBreakByAddress: a place given by address is named by the function there.
func TestBreakByAddress(t *testing.T) {
	exe := ptest.BuildC(t, "calls.c", "-no-pie")
	r := pgrab(t, nil, "-H", "0", "-q", "-b", "f_push", "--", exe, "-f", "push", "-n", "3")
	m := regexp.MustCompile(`3 +(0x[0-9a-f]+) +f_push`).FindStringSubmatch(r.stdout)
	if m == nil {
		t.Fatalf("no address in the table: %q", r.stdout)
	}
	r = pgrab(t, nil, "-H", "0", "-b", m[1], "--", exe, "-f", "push", "-n", "3")
	if n := strings.Count(r.stdout, "hit f_push+0 in calls (hit "); n != 3 {
		t.Errorf("%d hits", n)
	}
}
