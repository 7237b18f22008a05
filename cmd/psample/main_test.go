package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"

	"ptools/internal/ptest"
	"ptools/internal/sample"
)

// TestMain is psample itself if the test binary is called by that name, or is
// the workload of its demo.
func TestMain(m *testing.M) {
	if os.Getenv(workloadEnv) != "" || filepath.Base(os.Args[0]) == "psample" {
		main()
	}
	ptest.Main(m)
}

// psampleDir returns a directory that holds the command psample.
func psampleDir(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(exe, filepath.Join(dir, "psample")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestScripts(t *testing.T) {
	dir := psampleDir(t)
	mix := ptest.BuildC(t, "mix.c")
	if testing.Short() { // it works for a tenth of a second, which is less than reading the symbols of libc may take
		mix = ptest.BuildC(t, "mix.c", "-static")
	}
	pprof := ptest.GoTool(t, "pprof")
	create := ptest.BuildC(t, "threadcreate.c")
	contend := ptest.BuildC(t, "contend.c")
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", dir+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("MIX", mix)
			e.Setenv("PPROF", pprof)
			e.Setenv("MUCH", strconv.Itoa(ptest.Rounds(1500, 2000, 4000)))
			e.Setenv("SAMPLED", strconv.Itoa(ptest.Rounds(500, 1000, 1000)))
			e.Setenv("WORK", strconv.Itoa(ptest.Rounds(500, 1500, 4000)))
			e.Setenv("CONTENTION", strconv.Itoa(ptest.Rounds(1500, 1500, 3000)))
			e.Setenv("THREADCREATE", create)
			e.Setenv("CONTEND", contend)
			return nil
		},
		Condition: condition,
		Cmds:      map[string]func(*testscript.TestScript, bool, []string){"status": status},
	})
}

// condition answers the conditions of scripts about the machine.
func condition(name string) (bool, error) {
	if name != "timers" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	timers, err := sample.OpenTimers(sample.TimersOnly, sample.TimersOptions{Period: sample.DefaultPeriod})
	timers.Close()
	return err == nil, nil
}

// status runs a program that must exit with the status given:
//
//	status 2 psample --nonsense
func status(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// TestNothingSampled: after an error before the first sample there is no profile. A profile
// that is there already stays.
func TestNothingSampled(t *testing.T) {
	ptest.Need(t, "setpriv")
	if b, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); err != nil || strings.TrimSpace(string(b)) < "2" {
		t.Skip("timers are for every user here")
	}
	out := filepath.Join(t.TempDir(), "out.txt")
	if err := os.WriteFile(out, []byte("before\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"-o", out}, nil} {
		// Without rights psample may trace only what it starts.
		args := append([]string{"--bounding-set", "-all", filepath.Join(psampleDir(t), "psample"), "--timers", "only"}, flags...)
		cmd := exec.Command("setpriv", append(args, "sleep", "1")...)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != exitFailure {
			t.Errorf("%v: %v", flags, err)
		}
		if text := stderr.String(); stdout.Len() > 0 || !strings.HasPrefix(text, "psample: timers of the processors need ") || strings.Count(text, "\n") != 1 {
			t.Errorf("%v: output %q, error %q", flags, stdout.String(), text)
		}
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != "before\n" {
		t.Errorf("the file is now %q, %v", b, err)
	}
}

// TestHelp: every flag is in the help text as it is spelt.
func TestHelp(t *testing.T) {
	new(rawFlags).set().VisitAll(func(f *pflag.Flag) {
		want := "      --" + f.Name + " "
		if f.Shorthand != "" {
			want = "  -" + f.Shorthand + ", --" + f.Name + " "
		}
		if !strings.Contains(help, want) {
			t.Errorf("no %q", want)
		}
	})
}
