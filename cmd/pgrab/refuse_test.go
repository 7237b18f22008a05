package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// expectRefusal checks that pgrab refuses a process with one line.
func expectRefusal(t *testing.T, r result, pid int, reason string) {
	t.Helper()
	want := fmt.Sprintf("pgrab: grab %d: %s\n", pid, reason)
	if r.stderr != want || r.stdout != "" || r.status != 1 {
		t.Errorf("exit status %d, stdout %q, stderr %q; want 1 and %q", r.status, r.stdout, r.stderr, want)
	}
}

func TestNoSuchProcess(t *testing.T) {
	const pid = 1 << 30
	expectRefusal(t, pgrab(t, nil, "-p", strconv.Itoa(pid)), pid, "no such process")
}

func TestZombie(t *testing.T) {
	g := ptest.Start(t, "true")
	g.WaitState("Z")
	expectRefusal(t, pgrab(t, nil, "-p", strconv.Itoa(g.PID)), g.PID,
		"process is a zombie: it has ended and waits for its parent")
}

func TestKernelThread(t *testing.T) {
	comm, err := os.ReadFile("/proc/2/comm")
	if err != nil || string(comm) != "kthreadd\n" {
		t.Skip("kernel threads are not to be seen in this pid namespace")
	}
	expectRefusal(t, pgrab(t, nil, "-p", "2"), 2, "kernel thread: it has no user memory and cannot be traced")
}

func TestItself(t *testing.T) {
	r := runCommand(t, exec.Command("sh", "-c", "echo $$; exec "+pgrabPath(t)+" -p $$"))
	pid := strings.TrimSpace(r.stdout)
	if want := "pgrab: grab " + pid + ": a process cannot grab itself\n"; r.stderr != want || r.status != 1 {
		t.Errorf("exit status %d, stderr %q; want 1 and %q", r.status, r.stderr, want)
	}
}

func TestThreadOfAProcess(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "idle.c"), "-t", "2")
	g.Ready()
	tids := g.Threads()
	tid := tids[len(tids)-1]
	expectRefusal(t, pgrab(t, nil, "-p", strconv.Itoa(tid)), tid,
		fmt.Sprintf("not a process but a thread of process %d (grab %d)", g.PID, g.PID))
}

func TestTracedAlready(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tracer string
		args   []string
	}{
		{"strace", []string{"-o", "/dev/null", "-p"}},
		{"gdb", []string{"-nx", "-q", "-p"}},
	} {
		t.Run(tt.tracer, func(t *testing.T) {
			ptest.Need(t, tt.tracer)
			g := ptest.Start(t, "sleep", "1000")
			by := ptest.Start(t, append(append([]string{tt.tracer}, tt.args...), strconv.Itoa(g.PID))...)
			g.WaitFor("a tracer", func() bool { return g.TracerPID() != 0 })
			expectRefusal(t, pgrab(t, nil, "-p", strconv.Itoa(g.PID)), g.PID,
				fmt.Sprintf("process is traced by pid %d (%s)", by.PID, tt.tracer))
			by.Kill()
			by.Wait()
		})
	}
}

func TestAnotherUsersProcess(t *testing.T) {
	ptest.NeedUsers(t)
	g := ptest.Start(t, "sleep", "1000")
	cmd := exec.Command(publicPgrab(t), "-p", strconv.Itoa(g.PID))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	expectRefusal(t, runCommand(t, cmd), g.PID,
		"permission denied: the process belongs to uid 0 and this is uid 65534 (run as that user, as root or with CAP_SYS_PTRACE)")
}

// publicPgrab is the command where every user may execute it.
func publicPgrab(t *testing.T) string { return publicCopy(t, pgrabPath(t)) }

// publicCopy returns a copy of a program that every user may execute.
func publicCopy(t *testing.T, file string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "public")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, filepath.Base(file))
	ptest.WriteProgram(t, name, b)
	return name
}

func Test32BitProcess(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "pause32")
	ptest.WriteProgram(t, exe, pause32())
	cmd := exec.Command(exe)
	if err := cmd.Start(); err != nil {
		t.Skipf("this kernel does not run 32-bit programs: %v", err)
	}
	ptest.Keep(t, cmd)
	expectRefusal(t, pgrab(t, nil, "-p", strconv.Itoa(cmd.Process.Pid)), cmd.Process.Pid,
		"32-bit process: only 64-bit x86-64 processes are supported")
}

// pause32 is a 32-bit executable that calls pause(2) for ever.
func pause32() []byte {
	const base, header = 0x08048000, 52 + 32
	code := []byte{0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7} // mov $29,%eax; int $0x80; jmp
	var b bytes.Buffer
	b.WriteString("\x7fELF\x01\x01\x01")
	b.Write(make([]byte, 9))
	le := func(v ...any) {
		for _, x := range v {
			binary.Write(&b, binary.LittleEndian, x)
		}
	}
	le(uint16(2), uint16(3), uint32(1), uint32(base+header), uint32(52), uint32(0), uint32(0),
		uint16(52), uint16(32), uint16(1), uint16(0), uint16(0), uint16(0))
	size := uint32(header + len(code))
	le(uint32(1), uint32(0), uint32(base), uint32(base), size, size, uint32(5), uint32(0x1000))
	b.Write(code)
	return b.Bytes()
}

// TestOneOfSeveralIsRefused checks that the others continue.
func TestOneOfSeveralIsRefused(t *testing.T) {
	g := ptest.Start(t, "sleep", "1000")
	r := pgrab(t, nil, "-t", "0", "-s", "none", "-p", fmt.Sprintf("%d,%d", 1<<30, g.PID))
	want := fmt.Sprintf("pid %d: grabbed (1 thread)\npid %d: released, running\n", g.PID, g.PID)
	if r.stdout != want || r.status != 1 || !strings.Contains(r.stderr, "no such process") {
		t.Errorf("exit status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
	expectFree(t, g, "S")
}

// killRisks are the lines that say what there is instead of uprobes, where there are none.
var killRisks = regexp.MustCompile(`(?m)^pgrab: \d+: (objects that are loaded from now on are not shown|some breakpoints are int3s) .*\n`)

func TestUnusableOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full: ", err)
	}
	defer full.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	for _, tt := range []struct {
		out    *os.File
		status int
		stderr string
	}{
		{full, 1, "pgrab: write standard output: no space left on device\n"},
		{w, 128 + 13, ""}, // as with | head
	} {
		g := ptest.Start(t, "sleep", "1000")
		var errs strings.Builder
		cmd := exec.Command(pgrabPath(t), "-p", strconv.Itoa(g.PID))
		cmd.Stdout, cmd.Stderr = tt.out, &errs
		cmd.Run()
		got := killRisks.ReplaceAllString(errs.String(), "")
		if code := cmd.ProcessState.ExitCode(); code != tt.status || got != tt.stderr {
			t.Errorf("exit status %d, want %d; stderr %q, want %q", code, tt.status, got, tt.stderr)
		}
		expectFree(t, g, "S")
	}
	var errs strings.Builder
	cmd := exec.Command(pgrabPath(t), "--help")
	cmd.Stdout, cmd.Stderr = full, &errs
	cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 1 || errs.String() != "pgrab: write standard output: no space left on device\n" {
		t.Errorf("--help: exit status %d, stderr %q", code, errs.String())
	}
}
