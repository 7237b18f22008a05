package ptest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience bounds every wait of this package. It is far longer than a loaded machine needs. It only
// makes a hang be reported with the state of the target, and not by go test's timeout.
const Patience = 90 * time.Second

// Target is a process that a test has started. Its methods fail the test when they cannot do their
// work. So they must be called from the test's goroutine, unless their comment says otherwise.
type Target struct {
	PID   int
	Stdin io.WriteCloser // its end is the target's cue to finish
	Truth *Truth         // the shared page, or nil

	t    testing.TB
	cmd  *exec.Cmd   // the target, or the starter whose child it is; leads the process group
	self *os.Process // the target
	out  *lines
	stop sync.Once

	terminal bool             // leads the session of a terminal
	state    *os.ProcessState // set once it is reaped
	reaped   uint64           // likewise: when, in bootTicks
}

// Options says how to start a target. Nil and the zero value are valid.
type Options struct {
	Env   []string             // added to the test's environment
	Dir   string               // working directory; the test's if empty
	Truth *Truth               // page that the target publishes to
	Attr  *syscall.SysProcAttr // how it is forked; nil: in a process group of its own

	// Terminal makes the target the leader of a session that has this terminal. The terminal is
	// also its standard streams: Stdin types, Line reads the screen. It cannot be used with Foreign
	// or Attr.
	Terminal *Terminal

	// Foreign makes the target the child of another process, which reaps it at once: most
	// processes that a tool looks at are not its children. Wait and Finish still return how it
	// ended.
	Foreign bool
}

// Start starts argv[0] with standard input and output connected to the test and standard error
// copied to the test's log when the test ends.
func Start(t testing.TB, argv ...string) *Target {
	t.Helper()
	return StartWith(t, nil, argv...)
}

// StartWith is [Start] with options.
func StartWith(t testing.TB, o *Options, argv ...string) *Target {
	t.Helper()
	if !mainCalled {
		t.Fatal("ptest: TestMain does not call ptest.Main")
	}
	if o == nil {
		o = new(Options)
	}
	cmd := o.command(argv)
	pid := func() (int, error) { return cmd.Process.Pid, nil }
	if o.Foreign {
		pid = interpose(t, cmd)
	}
	stderr := new(strings.Builder)
	cmd.Stderr = stderr
	stdin, r, w := o.streams(t, cmd)
	err := cmd.Start()
	w.Close()
	if err != nil {
		stdin.Close()
		r.Close()
		t.Fatalf("ptest: %v", err)
	}
	g := &Target{Stdin: stdin, Truth: o.Truth, t: t, cmd: cmd, self: cmd.Process, out: readLines(r), terminal: o.Terminal != nil}
	t.Cleanup(func() {
		g.end()
		if t.Failed() && stderr.Len() > 0 {
			t.Logf("standard error of %s:\n%s", argv[0], stderr)
		}
	})
	if err := tellKeeper('+', cmd.Process.Pid); err != nil {
		t.Fatalf("ptest: keeper: %v", err)
	}
	if g.PID, err = pid(); err != nil {
		t.Fatalf("ptest: starter: %v", err)
	}
	awaitProgram(g.PID)
	if o.Foreign {
		if g.self, err = os.FindProcess(g.PID); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// streams connects the target's standard streams: stdin is its input, r reads what it writes to w.
func (o *Options) streams(t testing.TB, cmd *exec.Cmd) (stdin io.WriteCloser, r, w *os.File) {
	t.Helper()
	if m := o.Terminal; m != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = m.slave, m.slave, m.slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		return m.keys, m.keys, m.slave
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if r, w, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	return stdin, r, w
}

// command returns the command that runs argv as the options say, without its standard streams.
func (o *Options) command(argv []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = o.Dir
	cmd.Env = append(os.Environ(), o.Env...)
	if o.Truth != nil {
		cmd.Env = append(cmd.Env, truthEnv+"="+o.Truth.path)
	}
	if cmd.SysProcAttr = o.Attr; cmd.SysProcAttr == nil {
		cmd.SysProcAttr = ownGroup()
	}
	cmd.WaitDelay = time.Second // a grandchild may hold standard error open
	return cmd
}

// end runs when the test is over: it looks at a target that is still alive, then kills and reaps it.
func (g *Target) end() {
	if g.state == nil && !g.gone() {
		if tracer := g.tracer(); ownThread(tracer) {
			g.t.Errorf("ptest: target %d is still traced by thread %d of this test", g.PID, tracer)
		}
		TextIntact(g.t, g.PID)
	}
	g.Stdin.Close()
	switch leader := g.cmd.Process.Pid; {
	case g.state == nil:
		killGroup(leader)
		if g.terminal {
			killSession(leader)
		}
	case g.terminal || groupIsLeft(leader):
		killRest(leader, g.reaped)
	}
	g.Kill()
	g.reap()
	g.out.close()
	os.Remove("/tmp/perf-" + strconv.Itoa(g.PID) + ".map") // left by a JIT compiler that was killed
}

// Kill sends SIGKILL. Any goroutine may call it, at any time.
func (g *Target) Kill() { g.self.Kill() }

// Signal sends a signal to the process.
func (g *Target) Signal(sig os.Signal) {
	g.t.Helper()
	if err := g.self.Signal(sig); err != nil {
		g.t.Fatalf("ptest: %v to target %d: %v", sig, g.PID, err)
	}
}

// Wait reaps the target and returns how it ended. It does not make the target end.
func (g *Target) Wait() *os.ProcessState {
	g.t.Helper()
	g.WaitFor("the end of the target", g.gone)
	g.reap()
	return g.state
}

// reap reaps the target. It leaves the standard streams alone: the target's output can still be read.
func (g *Target) reap() {
	g.stop.Do(func() {
		tellKeeper('-', g.cmd.Process.Pid) // before its number can belong to another process
		g.cmd.Wait()                       // the state says how it ended
		g.reaped, g.state = bootTicks(), g.cmd.ProcessState
		if g.self != g.cmd.Process {
			g.self.Release()
		}
	})
}

// Finish closes the target's standard input and waits for its end. It returns the part of its output
// that had not been read, and how it ended.
func (g *Target) Finish() (string, *os.ProcessState) {
	g.t.Helper()
	g.Stdin.Close()
	out := g.Output()
	return out, g.Wait()
}

// awaitProgram waits until a process that has just been started has its program. Start returns as soon as the execve
// closes descriptors, which is before the execve maps the run-time linker and writes the stack.
func awaitProgram(pid int) {
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); runtime.Gosched() {
		// Without an auxiliary vector the process has no stack: not yet, or not any more. An error means that
		// it is gone, or that we may not read it.
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || len(b) > 0 || bytes.Contains(stat, []byte(") Z ")) || bytes.Contains(stat, []byte(") X ")) {
			return
		}
	}
}
