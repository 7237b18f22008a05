package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// changing is what differs from one run to the next in what pcalls prints: times, rates, numbers of threads and addresses, and the processor
// times, which are not known at int3s.
var changing = regexp.MustCompile(`\b[0-9.]+(ns|us|ms|s|%)|tid [0-9]+|cpu +\S+  |^[0-9:.]{15}|"(tid|pc|sum_ns|max_ns|duration_ns|self_ns)":[0-9]+|"cpu_ns":[0-9]+,|"(histogram)":\[\[.*?\]\]|"end":"[^"]*"|0x[0-9a-f]+|[0-9]+ known\n`)

// constant returns the lines of a table without what changes. In the table the second column is the rate.
func constant(out string) []string {
	var all []string
	for line := range strings.Lines(out) {
		f := strings.Fields(changing.ReplaceAllString(line, ""))
		if len(f) > 2 {
			if _, err := strconv.Atoi(f[0]); err == nil {
				f = slices.Delete(f, 1, 2)
			}
		}
		all = append(all, strings.Join(f, " "))
	}
	slices.Sort(all) // of those with as many calls the one that took longest is first
	return all
}

// TestSameAtTraps: what is printed does not depend on what counts, uprobes or int3s.
func TestSameAtTraps(t *testing.T) {
	uprobe.NeedCalls(t)
	path, program := command(t), ptest.BuildC(t, "testdata/known.c")
	for _, args := range []string{
		"a.out`known_* leaps never", "--json known_deep", "--args known_many(x<20) known_deep(n>7)", "--json --args --where known_many(x==7)",
		"--by x --sum 2*x known_many", "--json --by x --sum x known_many", "--by return known_deep", "--by caller --sum n known_deep",
		"--by stack --sum n known_deep", "--by thread known_many", "--slower 1h known_many", "--tree known_deep known_one leaps", "--hist known_one",
	} {
		var prints [2]string
		for i, trap := range []string{"uprobe", "int3"} {
			all := append([]string{"-q", "--trap", trap}, strings.Fields(args)...)
			cmd := exec.Command(path, append(all, "--", program)...)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != 7 || errs.Len() > 0 {
				t.Fatalf("%s: status %d, want 7, and nothing to be said: %s", all, code, errs.String())
			}
			prints[i] = out.String()
		}
		if args == "--hist known_one" {
			continue // its one line says how long the call took
		}
		if a, b := constant(prints[0]), constant(prints[1]); !slices.Equal(a, b) {
			t.Errorf("%s:\nat uprobes:\n%s\nat int3s:\n%s", args, strings.Join(a, "\n"), strings.Join(b, "\n"))
		}
	}
}

// public returns a copy of a file that all users may execute.
func public(t *testing.T, file string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "public")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	b, err := os.ReadFile(file)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, filepath.Base(file))
	ptest.WriteProgram(t, name, b)
	return name
}

// ordinary has a program be that of an ordinary user, and skips the test where these cannot trace each other's processes.
func ordinary(t *testing.T) *ptest.Options {
	t.Helper()
	ptest.NeedUsers(t)
	if b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil && string(b) != "0\n" {
		t.Skip("Yama lets ordinary users trace their own children only")
	}
	if b, err := os.ReadFile("/proc/sys/kernel/unprivileged_bpf_disabled"); err != nil || string(b) == "0\n" {
		t.Skip("ordinary users may load BPF programs")
	}
	return &ptest.Options{Attr: &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: ptest.Nobody, Gid: ptest.Nobody}}}
}

// TestOrdinaryUser: without rights calls are counted, of a command and of a process that runs, and it is said what that costs. What cannot be had is refused.
func TestOrdinaryUser(t *testing.T) {
	o := ordinary(t)
	path, program := public(t, command(t)), public(t, ptest.BuildC(t, "testdata/known.c"))
	try := func(status int, wants []string, args ...string) {
		t.Helper()
		cmd := exec.Command(path, args...)
		cmd.SysProcAttr = o.Attr
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != status {
			t.Errorf("%s: status %d, want %d", args, code, status)
		}
		for _, want := range wants {
			if !regexp.MustCompile(`(?m)` + want).Match(out) {
				t.Errorf("%s: no %q in\n%s", args, want, out)
			}
		}
	}
	said := `^pcalls: uprobes .*: threads are stopped at breakpoints where calls begin and end, some [0-9]+us a hit$`
	try(7, []string{said, `^ +1 .* known_one$`, `^ +1000 .* known_many$`, `^ +30 .* known_deep$`, `^pcalls: 1031 calls of 3 functions`}, "a.out`known_*", "--", program)
	try(1, []string{`^pcalls: .*uprobes`}, "--trap", "uprobe", "known_one", "--", program)
	try(1, []string{`--follow takes uprobes`}, "--follow", "known_one", "--", program)

	target := ptest.StartWith(t, o, program, "forever")
	target.Ready()
	pid := strconv.Itoa(target.PID)
	try(0, []string{said, `^ +[1-9].* naps$`}, "-t", "0.3", "-p", pid, "a.out`naps")
	try(0, []string{said, `limit is 20%|more than 20%`}, "-t", "0.3", "-p", pid, "known_many", "naps")
	try(0, []string{`tid [0-9]+ +[0-9.]+ms .*naps\(\) = 0$`}, "-t", "0.3", "--args", "--force", "-p", pid, "a.out`naps")
	try(1, []string{`--follow takes uprobes`}, "-t", "0.3", "--follow", "-p", pid, "naps")
	ptest.TextIntact(t, target.PID)
	target.Kill()
}

// TestKilledAtTraps: a process that makes no call in the moment in which pcalls is killed does its work, with its own text.
func TestKilledAtTraps(t *testing.T) {
	path := command(t)
	target := ptest.Start(t, ptest.BuildC(t, "../../internal/calls/testdata/endings.cc", "-O2"))
	target.Ready()
	for i := range ptest.Rounds(3, 5, 100) {
		tool := ptest.Start(t, path, "--trap", "int3", "-p", strconv.Itoa(target.PID), "a.out`*")
		target.WaitFor("traps", func() bool { return ptest.HasTraps(target.PID) })
		if i%2 == 1 {
			fmt.Fprintln(target.Stdin, 16)
			target.Line()
		}
		tool.Kill()
		tool.Wait()
		target.WaitFor("the traps to be lifted", func() bool { return !ptest.HasTraps(target.PID) })
		fmt.Fprintln(target.Stdin, 16)
		target.Line()
	}
	target.WaitFor("its own text", func() bool { return !ptest.HasTraps(target.PID) })
	ptest.TextIntact(t, target.PID)
	if out, state := target.Finish(); !state.Success() {
		t.Errorf("the target has ended with %v\n%s", state, out)
	}
}
