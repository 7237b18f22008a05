package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"ptools/internal/ptest"
)

// target is a process that is measured. It ends with its standard input, so no target outlives us.
type target struct {
	pid   int
	page  *ptest.Truth
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed when it is reaped
}

// cTarget starts a target that is a C program.
func cTarget(source string, args ...string) starter { return built(source, nil, args...) }

// built builds a target, in C with those flags or in Go, and starts it.
func built(source string, flags []string, args ...string) starter {
	return func(ctx context.Context, l *lab) *target {
		var exe string
		if strings.HasSuffix(source, ".go") {
			exe = l.gobuild(ctx, source)
		} else {
			exe = l.c(ctx, source, flags...)
		}
		return l.start(ctx, append([]string{exe}, args...)...)
	}
}

// start starts a target and waits until it says that it is ready. stop must be called.
func (l *lab) start(ctx context.Context, argv ...string) *target {
	l.pages++
	file := l.path(fmt.Sprint("page", l.pages))
	p := must(ptest.MakeTruth(file))
	t := &target{page: p, cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	t.cmd.Env = append(os.Environ(), "PTEST_TRUTH="+file)
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C is for us
	var err error
	t.stdin, err = t.cmd.StdinPipe()
	var stdout io.Reader
	if err == nil {
		stdout, err = t.cmd.StdoutPipe()
	}
	if err == nil {
		err = t.cmd.Start()
	}
	if err != nil {
		t.discard()
		check(err)
	}
	t.pid = t.cmd.Process.Pid
	ready := make(chan bool, 1)
	go func() { // ends with the target, which stop awaits
		defer close(t.ended)
		r := bufio.NewReader(stdout)
		line, _ := r.ReadString('\n')
		ready <- line == "ready\n"
		io.Copy(io.Discard, r)
		t.cmd.Wait() // stop has killed it: its status says nothing
	}()
	if err := t.awaitReady(ctx, ready); err != nil {
		t.stop()
		check(err)
	}
	return t
}

func (t *target) awaitReady(ctx context.Context, ready <-chan bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case ok := <-ready:
		if !ok {
			return fmt.Errorf("%s did not get ready", strings.Join(t.cmd.Args, " "))
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop kills the target and waits for its end.
func (t *target) stop() {
	t.cmd.Process.Kill()
	<-t.ended
	t.discard()
}

func (t *target) discard() {
	if t.stdin != nil {
		t.stdin.Close()
	}
	t.page.Close()
	os.Remove(t.page.Path())
}

// alive reports whether the target has not ended.
func (t *target) alive() bool {
	select {
	case <-t.ended:
		return false
	default:
		return true
	}
}

// rate measures how many units of work the target does in a second.
func (t *target) rate(ctx context.Context, window time.Duration) float64 {
	w0, t0 := t.page.Work(), time.Now()
	check(sleep(ctx, window))
	rate := float64(t.page.Work()-w0) / time.Since(t0).Seconds()
	if !t.alive() {
		fail("the target has died")
	}
	return rate
}
