package ptest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// buildAny builds a target by its ending.
func buildAny(t *testing.T, src string) string {
	t.Helper()
	if strings.HasSuffix(src, ".go") {
		return BuildGo(t, src)
	}
	return BuildC(t, src)
}

// alone is a target that ends by itself, with the last line that it must print.
type alone struct {
	src  string
	args string
	last string // regular expression
}

var alones = []alone{
	{"spin.c", "-n 1000 -t 3", `done 3000`},
	{"mix.c", "-n 10 -t 2", `done \d+`},
	{"mixthreads.c", "-n 10", `done \d+`},
	{"busyidle.c", "-n 100 -t 20", `done 200`},
	{"threadstorm.c", "-n 200 -t 3", `done 179700`},
	{"forkstorm.c", "-n 12 -t 3", `done 36`},
	{"births.c", "-n 10 -t 3", `done 90`},
	{"births.c", "-n 10 -t 3 -l", `done 90`},
	{"vforkstorm.c", "-n 12 -t 3", `done 36`},
	{"spawnstorm.c", "-n 8 -t 3", `done 24`},
	{"spawnstorm.c", "-s -n 8 -t 3", `done 24`},
	{"spawnstorm.c", "-o -n 8 -t 3", `done 24`},
	{"clonevm.c", "-n 40 -t 3", `done 240`},
	{"execstorm.c", "-n 20", `done 20`},
	{"execstorm.c", "-n 20 -t 3 -T", `done 20`},
	{"sigstorm.c", "-n 50", `done 200`},
	{"blockers.c", "-n 5", `done 190`},
	{"leaderdead.c", "-n 20 -t 3", `done 60`},
	{"altstack.c", "-n 20", `done \d+`},
	{"calls.c", "-f all -n 10000 -t 3", `done 16671667`},
	{"calls.c", "-f many -n 10000 -t 4", `done 12505000`},
	{"selftrap.c", "-n 50", `done 200`},
	{"groupstop.c", "-n 5 -t 2", `done 5`},
	{"jit.c", "-n 20", `done 20`},
	{"gomix.go", "-n 20", `done \d+`},
}

// TestAlone: every target ends by itself after -n rounds, with the expected checksum and status.
func TestAlone(t *testing.T) {
	for _, c := range alones {
		t.Run(c.src+" "+c.args, func(t *testing.T) {
			t.Parallel()
			g := StartWith(t, &Options{Truth: NewTruth(t)}, append([]string{buildAny(t, c.src)}, strings.Fields(c.args)...)...)
			g.Ready()
			out := g.Output()
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if ok, _ := regexp.MatchString("^"+c.last+"$", lines[len(lines)-1]); !ok {
				t.Errorf("printed %q, want %s at the end", out, c.last)
			}
			if state := g.Wait(); !state.Success() {
				t.Error(state)
			}
			if n := g.Truth.Errors() + g.Truth.EINTR(); n != 0 {
				t.Errorf("%d errors, %d EINTRs", g.Truth.Errors(), g.Truth.EINTR())
			}
		})
	}
}

// TestUntilEOF: every target works until its standard input ends, and then ends without an error.
func TestUntilEOF(t *testing.T) {
	for _, c := range alones {
		args := regexp.MustCompile(`-n \d+`).ReplaceAllString(c.args, "")
		t.Run(c.src+" "+args, func(t *testing.T) {
			t.Parallel()
			g := StartWith(t, &Options{Truth: NewTruth(t)}, append([]string{buildAny(t, c.src)}, strings.Fields(args)...)...)
			g.Ready()
			g.AwaitWork(2)
			out, state := g.Finish()
			if !strings.Contains(out, "done ") || !state.Success() {
				t.Errorf("printed %q, %v", out, state)
			}
		})
	}
}

// TestMixShares: mix keeps its shares, by the kernel's accounts.
func TestMixShares(t *testing.T) {
	g := StartWith(t, &Options{Truth: NewTruth(t)}, BuildC(t, "mix.c"), "-n", "500")
	g.Ready()
	g.Wait()
	var total uint64
	for i := range 3 {
		total += g.Truth.Share(i)
	}
	for i, want := range []float64{50, 30, 20} {
		if got := 100 * float64(g.Truth.Share(i)) / float64(total); got < want-5 || got > want+5 {
			t.Errorf("share %d is %s %%, want %v", i, strconv.FormatFloat(got, 'f', 1, 64), want)
		}
	}
}

// TestThreadcreate: threadcreate prints how many threads each place has created.
func TestThreadcreate(t *testing.T) {
	g := Start(t, BuildC(t, "threadcreate.c"), "-n", "4", "-w")
	g.Ready()
	out, state := g.Finish()
	if want := "place_one 4\nplace_two 8\nplace_three 12\nplace_four 16\nplace_five 20\ndone 60\n"; out != want || !state.Success() {
		t.Errorf("printed %q, %v", out, state)
	}
}

// TestDlchurn: dlchurn loads and unloads plugins, one for each thread or the same for all, also into namespaces.
func TestDlchurn(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(testing.TB, string, ...string) string
		args  string
	}{{"glibc", BuildC, ""}, {"namespaces", BuildC, "-m"}, {"musl", BuildMusl, ""}} {
		t.Run(c.name, func(t *testing.T) {
			argv := []string{c.build(t, "dlchurn.c"), "-n", "100", "-t", "3"}
			for range 3 {
				argv = append(argv, "-p", Copy(t, c.build(t, "plugin.c", "-shared", "-fPIC")))
			}
			g := Start(t, append(argv, strings.Fields(c.args)...)...)
			g.Ready()
			if out, state := g.Finish(); out != "done 300\n" || !state.Success() {
				t.Errorf("printed %q, %v", out, state)
			}
		})
	}
}

// TestCtors: constructors print before main and destructors after it, in every kind of executable.
func TestCtors(t *testing.T) {
	const c, cxx = "constructor\nmain\ndestructor\n", "constructor first\nconstructor second\nmain\ndestructor second\ndestructor first\n"
	for _, exe := range []struct{ path, want string }{
		{BuildC(t, "ctors.c"), c},
		{BuildC(t, "ctors.c", "-no-pie", "-fno-pie"), c},
		{BuildC(t, "ctors.c", "-static"), c},
		{BuildC(t, "ctors.c", "-static-pie", "-fPIE"), c},
		{BuildMusl(t, "ctors.c"), c},
		{BuildC(t, "ctorsxx.cc"), cxx},
	} {
		g := Start(t, exe.path)
		if out, state := g.Finish(); out != exe.want || state.ExitCode() != 7 {
			t.Errorf("%s printed %q, %v", exe.path, out, state)
		}
	}
}

// TestBlockersSeeEINTR: blockers sees the EINTRs that a stop and SIGCONT cause even without a handler
// (signal(7), "Interruption of system calls and library functions by stop signals").
func TestBlockersSeeEINTR(t *testing.T) {
	g := StartWith(t, &Options{Truth: NewTruth(t)}, BuildC(t, "blockers.c"))
	g.Ready()
	for g.Truth.EINTR() == 0 {
		g.AwaitWork(10)
		g.Signal(syscall.SIGSTOP)
		g.WaitState("T")
		g.Signal(syscall.SIGCONT)
	}
	out, state := g.Finish()
	if !strings.Contains(out, "eintr ") || !state.Success() {
		t.Errorf("printed %q, %v", out, state)
	}
}

// TestVforkwait: a thread inside vfork is in uninterruptible sleep while the others work.
func TestVforkwait(t *testing.T) {
	g := StartWith(t, &Options{Truth: NewTruth(t)}, BuildC(t, "vforkwait.c"), "-t", "2")
	g.Ready()
	g.AwaitWork(10)
	g.WaitFor("a thread in state D", func() bool {
		return slices.ContainsFunc(g.Threads(), func(tid int) bool { return g.ThreadState(tid) == 'D' })
	})
	if out, state := g.Finish(); out != "done 2\n" || !state.Success() {
		t.Errorf("printed %q, %v", out, state)
	}
}

// TestOdd: every kind of odd process has the property that it is for.
func TestOdd(t *testing.T) {
	for _, args := range []string{"-k zombie", "-k undumpable", "-k undumpable -u 65534", "-k seccomp", "-k user -u 65534", "-k userns"} {
		t.Run(args, func(t *testing.T) {
			if strings.Contains(args, "-u ") {
				NeedUsers(t)
			}
			switch args {
			case "-k seccomp":
				NeedStrict(t)
			case "-k userns":
				NeedNamespaces(t, "-U")
			}
			g := Start(t, append([]string{BuildC(t, "odd.c")}, strings.Fields(args)...)...)
			line := g.Line()
			if strings.Contains(args, "zombie") {
				if pid, _ := strconv.Atoi(strings.TrimPrefix(line, "ready ")); threadState(pid, pid) != 'Z' {
					t.Errorf("%q, state %c", line, threadState(pid, pid))
				}
			}
			if strings.Contains(args, "seccomp") && statusNumber(g.PID, g.PID, "Seccomp:") != 1 {
				t.Error("no strict mode")
			}
			if out, state := g.Finish(); out != "done 0\n" || !state.Success() {
				t.Errorf("printed %q, %v", out, state)
			}
		})
	}
}

// TestTextIntactStorm: TextIntact finds nothing in a process that execs, loads and unloads all the time, as
// long as no byte is changed.
func TestTextIntactStorm(t *testing.T) {
	so := BuildC(t, "plugin.c", "-shared", "-fPIC")
	for _, argv := range [][]string{
		{BuildC(t, "execstorm.c"), "-t", "2", "-T"},
		{BuildC(t, "dlchurn.c"), "-t", "2", "-p", Copy(t, so), "-p", Copy(t, so)},
		{BuildC(t, "vforkstorm.c"), "-t", "2"},
		{"/bin/sh", "-c", "echo ready; exec sleep 1000"},
	} {
		g := Start(t, argv...)
		g.Ready()
		for range Rounds(20, 100, 5000) {
			TextIntact(t, g.PID)
		}
	}
}

// TestZoo: every animal of the zoo sleeps and works.
func TestZoo(t *testing.T) {
	for _, a := range Zoo(t) {
		t.Run(a.Name, func(t *testing.T) {
			Start(t, a.Idle...).WaitState("S")
			Start(t, a.Busy...).WaitState("R")
		})
	}
}

// TestIdle: idle threads exist, and do nothing.
func TestIdle(t *testing.T) {
	g := StartWith(t, &Options{Truth: NewTruth(t)}, BuildC(t, "idle.c"), "-t", "1000")
	g.Ready()
	if n := len(g.Threads()); n != 1001 {
		t.Errorf("%d threads", n)
	}
	if out, state := g.Finish(); out != "done 1000\n" || !state.Success() {
		t.Errorf("printed %q, %v", out, state)
	}
}
