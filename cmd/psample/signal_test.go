package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// running is a psample that has begun to sample.
type running struct {
	t      testing.TB
	cmd    *exec.Cmd
	head   string        // what was printed before the first sample
	out    *bufio.Reader // the rest
	pipe   io.Closer
	stderr bytes.Buffer
}

// startPsample starts psample with -f, and returns when it has printed a sample.
func startPsample(t testing.TB, args ...string) *running {
	t.Helper()
	r := &running{t: t, cmd: exec.Command(filepath.Join(psampleDir(t), "psample"), append([]string{"-f"}, args...)...)}
	r.cmd.Stderr = &r.stderr
	pipe, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.out, r.pipe = bufio.NewReader(pipe), pipe
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			r.cmd.Process.Kill()
			r.cmd.Wait()
		}
	})
	for {
		line, err := r.out.ReadString('\n')
		if err != nil {
			t.Fatalf("no sample: %v\n%s", err, &r.stderr)
		}
		if strings.Contains(line, "(tid ") {
			return r
		}
		r.head += line
	}
}

// signal sends a signal to psample alone.
func (r *running) signal(sig os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(sig); err != nil {
		r.t.Fatal(err)
	}
}

// end returns the exit status, after reading the rest of the output.
func (r *running) end() int {
	r.t.Helper()
	io.Copy(io.Discard, r.out)
	if err := r.cmd.Wait(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			r.t.Fatal(err)
		}
	}
	return r.cmd.ProcessState.ExitCode()
}

// TestSignalsEndTheSampling: the profile so far is written, and the target runs on.
func TestSignalsEndTheSampling(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			truth := ptest.NewTruth(t)
			g := ptest.StartWith(t, &ptest.Options{Truth: truth}, ptest.BuildC(t, "mix.c"))
			g.Ready()
			file := filepath.Join(t.TempDir(), "prof.txt")
			r := startPsample(t, "-o", file, "-p", fmt.Sprint(g.PID))
			r.signal(sig)
			if status := r.end(); status != 0 {
				t.Errorf("exit status %d\n%s", status, &r.stderr)
			}
			data, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(data), " at 99 Hz, ") {
				t.Errorf("profile %q, %v", data, err)
			}
			if pid := g.TracerPID(); pid != 0 {
				t.Errorf("the target is still traced by %d", pid)
			}
			g.AwaitWork(1)
		})
	}
}

// TestSignalReachesTheCommand: a signal that ends psample also ends its command. The
// exit status is that of the command.
func TestSignalReachesTheCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prof.txt")
	r := startPsample(t, "-q", "-o", file, "--", "sh", "-c", "i=0; while [ $i -lt 100000000 ]; do i=$((i+1)); done")
	r.signal(syscall.SIGTERM)
	if status := r.end(); status != 128+15 {
		t.Errorf("exit status %d\n%s", status, &r.stderr)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// TestInterruptEndsTheCommand when its profile is written.
func TestInterruptEndsTheCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prof.txt")
	cmd := exec.Command(filepath.Join(psampleDir(t), "psample"), "-t", "0.2", "-o", file, "--", "sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // away from a terminal
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "still running") {
			break
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the profile is not written yet: %v", err)
	}
	cmd.Process.Signal(os.Interrupt)
	io.Copy(io.Discard, lines)
	cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 128+2 {
		t.Errorf("exit status %d", status)
	}
}

// TestSecondSignalEndsTheWaiting for a command that takes no notice.
func TestSecondSignalEndsTheWaiting(t *testing.T) {
	r := startPsample(t, "-q", "--", "sh", "-c", "exec 2>/dev/null; trap '' INT; echo pid $$; i=0; while [ $i -lt 100000000 ]; do i=$((i+1)); done")
	r.signal(os.Interrupt)
	said := r.head
	for { // the profile shows that the first signal was received
		line, err := r.out.ReadString('\n')
		if err != nil {
			t.Fatalf("%v\n%s", err, &r.stderr)
		}
		said += line
		if strings.Contains(line, " at 99 Hz, ") {
			break
		}
	}
	r.signal(os.Interrupt)
	r.pipe.Close() // the command has the pipe too, and runs on
	err := r.cmd.Wait()
	if status := r.cmd.ProcessState.ExitCode(); status != 128+2 {
		t.Errorf("exit status %d, %v", status, err)
	}
	var pid int
	if _, rest, ok := strings.Cut(said, "pid "); ok {
		fmt.Sscan(rest, &pid)
	}
	if pid == 0 {
		t.Fatal("the command did not say its number")
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Errorf("the command is gone: %v", err)
	}
}

// TestClosedPipe: a reader that closes the pipe (head) ends the sampling without a
// message.
func TestClosedPipe(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"))
	g.Ready()
	r := startPsample(t, "-q", "-F", "500", "-p", fmt.Sprint(g.PID))
	r.pipe.Close()
	err := r.cmd.Wait()
	if status := r.cmd.ProcessState.ExitCode(); status != exitPipe {
		t.Errorf("exit status %d, %v", status, err)
	}
	if got := r.stderr.String(); got != "" {
		t.Errorf("standard error %q", got)
	}
	if pid := g.TracerPID(); pid != 0 {
		t.Errorf("the target is still traced by %d", pid)
	}
}

// TestSeveralProcesses share one schedule and one profile.
func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	var pids []string
	for range 3 {
		g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-u", "400")
		g.Ready()
		pids = append(pids, fmt.Sprint(g.PID))
	}
	out, err := exec.Command(filepath.Join(psampleDir(t), "psample"),
		"-q", "-F", "200", "-t", "0.5", "--threads", "-O", "folded", "--value", "wall", "-p", strings.Join(pids, ",")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, pid := range pids {
		if !strings.Contains(string(out), "mix (tid "+pid+");") {
			t.Errorf("nothing of process %s in\n%s", pid, out)
		}
	}
}
