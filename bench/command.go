package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// commandLimit is how long a command that ends by itself may take.
const commandLimit = 2 * time.Minute

// command returns a command in a process group of its own. The whole group is killed when ctx is
// done.
func command(ctx context.Context, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	// gdb must not fetch debug information from the network, nor read a user's start-up files. dlv would make a home.
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "HOME=/dev/null")
	return cmd
}

// result is the output of a command that has ended.
type result struct {
	wall time.Duration
	out  []byte // standard output
	err  []byte // standard error
}

// finish runs a command to its end. The command must succeed.
func finish(ctx context.Context, argv ...string) (*result, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	cmd := command(ctx, argv)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	t0 := time.Now()
	err := cmd.Run()
	r := &result{time.Since(t0), stdout.Bytes(), stderr.Bytes()}
	if err != nil {
		err = fmt.Errorf("%s: %w%s", argv[0], err, lastLine(r.err))
	}
	return r, err
}

// lastLine returns the last line of a tool's error output, to be put behind an error.
func lastLine(b []byte) string {
	s := strings.TrimSpace(string(b))
	if s == "" {
		return ""
	}
	return ": " + s[strings.LastIndexByte(s, '\n')+1:]
}

// background is a command that runs until it is told to end.
type background struct {
	cmd    *exec.Cmd
	out    tail
	cancel context.CancelFunc
	ended  chan error
}

// launch starts a command. end or interrupt must be called.
func launch(ctx context.Context, argv ...string) (*background, error) {
	ctx, cancel := context.WithCancel(ctx)
	b := &background{cmd: command(ctx, argv), cancel: cancel, ended: make(chan error, 1)}
	b.cmd.Stdout, b.cmd.Stderr = &b.out, &b.out
	if err := b.cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	go func() { b.ended <- b.cmd.Wait() }() // end awaits it
	return b, nil
}

// says waits until the command has printed something.
func (b *background) says(ctx context.Context, text string) error {
	return await(ctx, fmt.Sprintf("%q from %s", text, b.cmd.Path), func() bool { return b.out.contains(text) })
}

// interrupt ends a tool that then prints its results.
func (b *background) interrupt() error { return b.end(syscall.SIGINT) }

// end sends a signal and waits for the end of the command, which is killed if that takes too long.
func (b *background) end(sig syscall.Signal) error {
	defer b.cancel()
	b.cmd.Process.Signal(sig) // if it has ended already, Wait returns its status
	select {
	case err := <-b.ended:
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Sys().(syscall.WaitStatus).Signaled() {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w%s", b.cmd.Path, err, lastLine(b.out.bytes()))
		}
		return nil
	case <-time.After(patience):
		b.cancel()
		<-b.ended
		return fmt.Errorf("%s did not end", b.cmd.Path)
	}
}

// tail is the end of a command's output: some tools print a line for each event.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailLimit = 64 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*tailLimit {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-tailLimit:]...)
	}
	return len(p), nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.buf)
}

func (t *tail) contains(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Contains(t.buf, []byte(text))
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// need ends a measurement if one of its programs is not installed.
func need(programs ...string) {
	for _, name := range programs {
		if why := missing(name); why != "" {
			fail("%s", why)
		}
	}
}

// missing returns a note if a program is not installed, otherwise "".
func missing(program string) string {
	if program == "" {
		return ""
	}
	if _, err := exec.LookPath(program); err != nil {
		return program + " is not installed"
	}
	return ""
}
