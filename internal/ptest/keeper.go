package ptest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// The keeper is a second process of the test binary that outlives it by a moment. It knows every
// target. Its standard input ends when the test binary has ended, even by SIGKILL. Then it kills the
// targets that are left, and removes the temporary files. (PR_SET_PDEATHSIG would not do: it fires
// when the *thread* that forked ends, and a thread that a goroutine has locked may end.)
const keeperName = "ptest-keeper"

var keeper struct {
	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
}

// tellKeeper writes one line to the keeper, which it starts when there is none yet.
func tellKeeper(verb byte, pid int) error {
	keeper.mu.Lock()
	defer keeper.mu.Unlock()
	if keeper.cmd == nil {
		if err := startKeeper(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(keeper.in, "%c%d\n", verb, pid)
	return err
}

// Keep kills a started command when the test ends, also when the test binary is killed. The test may wait for the command.
func Keep(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	t.Cleanup(func() {
		cmd.Process.Kill()
		tellKeeper('-', cmd.Process.Pid)
		cmd.Wait() // the status is that of the kill, unless the test has waited
	})
	if err := tellKeeper('+', cmd.Process.Pid); err != nil {
		t.Fatalf("ptest: keeper: %v", err)
	}
}

// startKeeper starts the keeper; keeper.mu is held. The keeper has a process group of its own, so that
// the terminal's ^C does not end it before its work is done.
func startKeeper() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), helperEnv+"="+keeperName)
	cmd.SysProcAttr = ownGroup()
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		in.Close()
		return err
	}
	keeper.cmd, keeper.in = cmd, in
	return nil
}

// stopKeeper ends the keeper and waits for it.
func stopKeeper() {
	keeper.mu.Lock()
	defer keeper.mu.Unlock()
	if keeper.cmd == nil {
		return
	}
	keeper.in.Close()
	keeper.cmd.Wait() // its status says nothing about the tests
	keeper.cmd = nil
}

// keep is the keeper's main function. It holds each target by os.Process, which is a pidfd where the
// kernel has those. So it never kills another process that has the PID by then.
func keep() {
	targets := map[int]*os.Process{}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var verb byte
		var pid int
		if n, _ := fmt.Sscanf(in.Text(), "%c%d", &verb, &pid); n != 2 {
			continue // cut short by the death of the writer
		}
		switch p := targets[pid]; {
		case verb == '+':
			if p, err := os.FindProcess(pid); err == nil {
				targets[pid] = p
			}
		case p != nil:
			p.Release()
			delete(targets, pid)
		}
	}
	for pid, p := range targets {
		if p.Signal(nullSignal) == nil {
			killGroup(pid)
			p.Kill()
		}
	}
	if dir := os.Getenv(dirEnv); dir != "" {
		os.RemoveAll(dir)
	}
}
