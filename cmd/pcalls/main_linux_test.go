package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"

	"ptools/internal/calls"
	"ptools/internal/perfevent"
	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// TestMain is pcalls itself if the test binary is called by that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "pcalls" {
		main()
	}
	ptest.Main(m)
}

// command returns the path of the command pcalls.
func command(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pcalls")
	if err := os.Symlink(exe, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestScripts(t *testing.T) {
	uprobe.NeedCalls(t)
	path := command(t)
	program, lines := ptest.BuildC(t, "testdata/known.c"), ptest.BuildC(t, "testdata/lines.c", "-O2")
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", filepath.Dir(path)+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("KNOWN", program)
			e.Setenv("LINES", lines)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status},
	})
}

// status runs a command and compares its exit status.
func status(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := err.(interface{ ExitCode() int }); ok {
		got = e.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
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

// TestRunning: a process that runs is counted until the time is over, and is unharmed. The times are those of the calls.
func TestRunning(t *testing.T) {
	uprobe.NeedCalls(t)
	target := ptest.Start(t, ptest.BuildC(t, "testdata/known.c"), "forever")
	target.Ready()
	var out, errs strings.Builder
	args := []string{"--json", "-p", strconv.Itoa(target.PID), "-t", "0.3", "a.out`naps"}
	if code := run(context.Background(), args, &out, &errs); code != 0 {
		t.Fatalf("status %d: %s", code, errs.String())
	}
	var naps struct {
		Calls, Returned uint64
		Sum             int64 `json:"sum_ns"`
		Histogram       [][2]uint64
	}
	if err := json.Unmarshal([]byte(out.String()), &naps); err != nil || naps.Returned == 0 || naps.Calls < naps.Returned {
		t.Fatalf("output %q: %v", out.String(), err)
	}
	if mean := time.Duration(naps.Sum) / time.Duration(naps.Returned); mean < 2*time.Millisecond || naps.Histogram[0][0] < 1_800_000 {
		t.Errorf("naps of 2 ms take %v: %s", mean, out.String())
	}
	ptest.TextIntact(t, target.PID)
	target.Kill()
}

// TestSlower: each call that takes as long is printed once, and no other.
func TestSlower(t *testing.T) {
	uprobe.NeedCalls(t)
	target := ptest.Start(t, ptest.BuildC(t, "testdata/known.c"), "forever")
	target.Ready()
	for slower, all := range map[string]bool{"1ms": true, "1h": false} {
		var out, errs strings.Builder
		args := []string{"--json", "--slower", slower, "-p", strconv.Itoa(target.PID), "-t", "0.3", "a.out`naps"}
		if code := run(context.Background(), args, &out, &errs); code != 0 {
			t.Fatalf("status %d: %s", code, errs.String())
		}
		printed, returned := uint64(0), uint64(0)
		for line := range strings.Lines(out.String()) {
			var v struct {
				Slow     string
				TID      int
				Length   int64 `json:"duration_ns"`
				Returned uint64
			}
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			returned += v.Returned
			if v.Slow == "" {
				continue
			}
			if printed++; v.Slow != "naps" || v.TID != target.PID || v.Length < 2_000_000 {
				t.Errorf("a nap of 2 ms of process %d: %s", target.PID, line)
			}
		}
		least, most := returned, returned+1 // one may end between the last looks at both
		if !all {
			least, most = 0, 0
		}
		if returned == 0 || printed < least || printed > most {
			t.Errorf("--slower %s: %d of %d printed", slower, printed, returned)
		}
	}
	target.Kill()
}

// TestKilledWhileCounting: a target does its work, with its own text, when pcalls is killed at any moment. Signal handlers, threads
// that end in calls, objects that are unloaded and children go on meanwhile.
func TestKilledWhileCounting(t *testing.T) {
	uprobe.NeedCalls(t)
	path := command(t)
	library := ptest.BuildC(t, "../../internal/calls/testdata/loaded.c", "-shared", "-fPIC")
	target := ptest.Start(t, ptest.BuildC(t, "../../internal/calls/testdata/hazards.cc"), library)
	target.Ready()
	random := ptest.Rand(t)
	for range ptest.Rounds(3, 6, 300) {
		tool := ptest.Start(t, path, "-p", strconv.Itoa(target.PID), "a.out`*", "*`loaded", "libc`raise", "libc`pthread_*")
		fmt.Fprintln(target.Stdin, 8)
		ptest.AMoment(random, 200*time.Millisecond)
		tool.Kill()
		tool.Wait()
		target.Line()
	}
	target.WaitFor("the traps to be lifted", func() bool { return !ptest.HasTraps(target.PID) })
	ptest.TextIntact(t, target.PID)
	if out, state := target.Finish(); !state.Success() {
		t.Errorf("the target has ended with %v\n%s", state, out)
	}
}

// TestSignalEnds: the first signal ends the counting, and the result is printed.
func TestSignalEnds(t *testing.T) {
	uprobe.NeedCalls(t)
	target := ptest.Start(t, ptest.BuildC(t, "testdata/known.c"), "forever")
	target.Ready()
	tool := ptest.Start(t, command(t), "--json", "-p", strconv.Itoa(target.PID), "a.out`naps")
	target.WaitFor("probes", func() bool { return ptest.HasTraps(target.PID) })
	tool.Signal(os.Interrupt)
	out := tool.Output()
	if state := tool.Wait(); !state.Success() {
		t.Errorf("%v: %s", state, out)
	}
	target.Kill()
}

// TestDurations: how times are printed.
func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0ns", 16: "16ns", 999: "999ns", 1000: "1.00us", 1234: "1.23us", 99_960: "100us", 999_600: "1.00ms",
		12_340_000: "12.3ms", 3 * time.Second: "3.00s", 100 * time.Minute: "6000s"} {
		if got := duration(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}

// TestQuantiles: quantiles of known durations are within an eighth.
func TestQuantiles(t *testing.T) {
	var s calls.Stats
	for i := range 1000 {
		d := time.Duration(i+1) * time.Microsecond
		class := 0
		for c := range s.Buckets {
			if perfevent.BucketStart(c) <= d {
				class = c
			}
		}
		s.Buckets[class]++
		s.Max = d
	}
	for q, want := range map[float64]time.Duration{.5: 500 * time.Microsecond, .9: 900 * time.Microsecond, .99: 990 * time.Microsecond, 1: time.Millisecond} {
		if got := calls.Quantile(&s, q); got < want*7/8 || got > want*9/8 || got > s.Max {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}

// TestQuantilesOfFew: the one call's duration is known exactly, and so is the longest one's of few.
func TestQuantilesOfFew(t *testing.T) {
	const longest = 2560 * time.Microsecond
	one := calls.Stats{Max: longest}
	one.Buckets[perfevent.BucketOf(longest)] = 1
	few := one
	few.Buckets[perfevent.BucketOf(time.Microsecond)] = 20
	for _, test := range []struct {
		stats *calls.Stats
		q     float64
		want  time.Duration
	}{{&one, .5, longest}, {&one, .99, longest}, {&few, .99, longest}, {&few, .96, longest}, {&calls.Stats{}, .5, 0}} {
		if got := calls.Quantile(test.stats, test.q); got != test.want {
			t.Errorf("quantile %v is %v, want %v", test.q, got, test.want)
		}
	}
	if got := calls.Quantile(&few, .95); got > 2*time.Microsecond {
		t.Errorf("quantile .95 of 21 is %v", got)
	}
}

// TestClosedOutput: a reader that goes away ends a view quietly.
func TestClosedOutput(t *testing.T) {
	s := &session{config: &config{}, stdout: failing{}, stderr: io.Discard}
	if err := s.printRows(nil, time.Second, 0, ""); err == nil {
		t.Error("no error")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestKernelThread: a kernel thread is not called a process that is not there.
func TestKernelThread(t *testing.T) {
	if comm, err := os.ReadFile("/proc/2/comm"); err != nil || string(comm) != "kthreadd\n" {
		t.Skip("kernel threads are not to be seen in this pid namespace")
	}
	var out, errs strings.Builder
	if code := run(context.Background(), []string{"-p", "2", "write"}, &out, &errs); code != 1 || errs.String() != "pcalls: grab 2: kernel thread: it has no user memory and cannot be traced\n" {
		t.Errorf("status %d, %q", code, errs.String())
	}
}

// TestZombie: neither is a process that has ended and waits for its parent.
func TestZombie(t *testing.T) {
	target := ptest.Start(t, "true")
	target.WaitState("Z")
	var out, errs strings.Builder
	code := run(context.Background(), []string{"-p", strconv.Itoa(target.PID), "write"}, &out, &errs)
	if want := fmt.Sprintf("pcalls: grab %d: process is a zombie: it has ended and waits for its parent\n", target.PID); code != 1 || errs.String() != want {
		t.Errorf("status %d, %q", code, errs.String())
	}
}

// TestThread: a thread's number is no process's.
func TestThread(t *testing.T) {
	target := ptest.Start(t, ptest.BuildC(t, "idle.c"), "-t", "1")
	target.Ready()
	tid := slices.Max(target.Threads())
	var out, errs strings.Builder
	code := run(context.Background(), []string{"-p", strconv.Itoa(tid), "write"}, &out, &errs)
	if want := fmt.Sprintf("pcalls: grab %d: not a process but a thread of process %d (grab %d)\n", tid, target.PID, target.PID); code != 1 || errs.String() != want {
		t.Errorf("status %d, %q", code, errs.String())
	}
}

// TestListMissed: --list of a running process says what is not there, as it does of a command.
func TestListMissed(t *testing.T) {
	target := ptest.Start(t, ptest.BuildC(t, "idle.c"), "-t", "1")
	target.Ready()
	for pattern, want := range map[string]string{"libnone`x": "has mapped no object named libnone", "idle_non": "no function is named idle_non"} {
		var out, errs strings.Builder
		code := run(context.Background(), []string{"--list", "-p", strconv.Itoa(target.PID), pattern}, &out, &errs)
		if code != 1 || !strings.Contains(errs.String(), want) || out.Len() > 0 {
			t.Errorf("%s: status %d, %q, %q", pattern, code, out.String(), errs.String())
		}
	}
}
