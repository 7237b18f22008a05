package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// TestCommandIsLetGo: a command that timers sample has no tracer, and psample has its exit status. Its processor time is
// exact: it is read after the command's end, and before another process gets its number.
func TestCommandIsLetGo(t *testing.T) {
	if have, err := condition("timers"); err != nil || !have {
		t.Skip("no timers")
	}
	const script = `grep TracerPid /proc/$$/status; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; cat /proc/$$/schedstat; `
	for _, tt := range []struct {
		name, script string
		args         []string
		status       int
	}{
		{"exits", script + "exit 5", nil, 5},
		{"killed", script + "kill -9 $$", nil, 128 + 9},
		{"follow", script + "exit 6", []string{"--follow"}, 6},
		{"survives", script + "(sleep 1.5; echo) & exit 7", []string{"--follow"}, 7},
		{"outlives", script + "sleep 1; exit 8", []string{"-t", "0.5"}, 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "profile.json")
			args := append(append([]string{"--timers", "only", "-q", "-o", out}, tt.args...), "--", "/bin/sh", "-c", tt.script)
			cmd := exec.Command(filepath.Join(psampleDir(t), "psample"), args...)
			begun := time.Now()
			said, _ := cmd.Output()
			if status := cmd.ProcessState.ExitCode(); status != tt.status {
				t.Errorf("exit status %d, want %d", status, tt.status)
			}
			var used int64
			if _, err := fmt.Sscanf(string(said), "TracerPid: 0\n%d", &used); err != nil {
				t.Fatalf("%v: the command says %q", err, said)
			}
			if tt.name == "outlives" {
				return
			}
			b, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			var p struct {
				CPU       int64 `json:"cpu_ns"`
				Processes []struct {
					Command string `json:"comm"`
					CPU     int64  `json:"cpu_ns"`
				} `json:"processes"`
			}
			if err := json.Unmarshal(b, &p); err != nil {
				t.Fatal(err)
			}
			counted := p.CPU
			if len(p.Processes) > 0 {
				counted = p.Processes[0].CPU
			}
			// The processor time from before its first instruction, which is 2.1 to 3.5 ms on a machine at rest, and after the reading.
			if off := time.Duration(counted - used).Abs(); off > time.Duration(used)/20+5*time.Millisecond {
				t.Errorf("%v of processor time in the profile, the kernel says %v (after %v)", time.Duration(counted), time.Duration(used), time.Since(begun))
			}
		})
	}
}

// TestCommandIsReaped: the number of a command that has ended is free, even while descendants run.
func TestCommandIsReaped(t *testing.T) {
	if have, err := condition("timers"); err != nil || !have {
		t.Skip("no timers")
	}
	const script = `p=$$; (while kill -0 $p 2>/dev/null; do sleep 0.1; done; echo gone) & exit 3`
	cmd := exec.Command(filepath.Join(psampleDir(t), "psample"), "--follow", "-q", "-o", "/dev/null", "--", "/bin/sh", "-c", script)
	said, _ := cmd.Output()
	if status := cmd.ProcessState.ExitCode(); status != 3 || strings.TrimSpace(string(said)) != "gone" {
		t.Errorf("exit status %d: %q", status, said)
	}
}

// TestStopIsNoEnd: a command that is stopped, and at once continued or killed, has its own exit status. A stop that is
// over when it is looked at is not taken for an end.
func TestStopIsNoEnd(t *testing.T) {
	t.Parallel()
	const script = "echo ready $$; read x; exit 7"
	start := func() (pid int, end func() int) {
		cmd := exec.Command(filepath.Join(psampleDir(t), "psample"), "-q", "-o", "/dev/null", "--", "/bin/sh", "-c", script)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fscanf(stdout, "ready %d\n", &pid); err != nil {
			t.Fatal(err)
		}
		return pid, func() int {
			stdin.Close()
			cmd.Wait() // the state says how it ended
			return cmd.ProcessState.ExitCode()
		}
	}
	pid, end := start()
	for range ptest.Rounds(300, 1000, 10000) {
		syscall.Kill(pid, syscall.SIGSTOP)
		syscall.Kill(pid, syscall.SIGCONT)
	}
	if status := end(); status != 7 {
		t.Errorf("stopped and continued: exit status %d", status)
	}
	for i := range ptest.Rounds(10, 50, 500) {
		pid, end := start()
		syscall.Kill(pid, syscall.SIGSTOP)
		for range i % 10 {
			runtime.Gosched()
		}
		syscall.Kill(pid, syscall.SIGKILL)
		if status := end(); status != 128+9 {
			t.Errorf("stopped and killed: exit status %d", status)
		}
	}
}

// TestCommandIsKilledEarly: if a command is killed before its first instruction, or at about that time, psample ends with
// its exit status.
func TestCommandIsKilledEarly(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--timers", "auto"}, {"--timers", "off"}, {"--follow"}, {"--follow", "--timers", "off"}, {"--threadcreate"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			for i := range ptest.Rounds(4, 20, 300) {
				cmd := exec.Command(filepath.Join(psampleDir(t), "psample"), append(args, "-o", "/dev/null", "--", "/bin/sleep", "60")...)
				var said bytes.Buffer
				cmd.Stderr = &said
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				pid := childNamed(cmd.Process.Pid, "sleep")
				if pid == 0 {
					cmd.Process.Kill()
					cmd.Wait()
					t.Fatal("no command")
				}
				for begun := time.Now(); time.Since(begun) < time.Duration(i%20)*200*time.Microsecond; {
					runtime.Gosched()
				}
				syscall.Kill(pid, syscall.SIGKILL)
				late := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
				cmd.Wait() // the state says how it ended
				if status := cmd.ProcessState.ExitCode(); !late.Stop() || status != 128+9 {
					t.Errorf("exit status %d: %s", status, said.Bytes())
				}
			}
		})
	}
}

// childNamed waits for a child that executes a program of this name and returns it, 0 if none comes.
func childNamed(parent int, comm string) int {
	for begun := time.Now(); time.Since(begun) < 30*time.Second; {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
		for _, list := range lists {
			children, _ := os.ReadFile(list) // without it the thread has ended
			for _, child := range strings.Fields(string(children)) {
				if name, _ := os.ReadFile("/proc/" + child + "/comm"); string(name) == comm+"\n" {
					pid, _ := strconv.Atoi(child)
					return pid
				}
			}
		}
	}
	return 0
}
