// Functrace prints the calls of named functions in a running process, with the
// calling thread and the first arguments:
//
//	functrace [-args N] -p PID FUNCTION...
//
// A FUNCTION is SYMBOL, OBJECT`SYMBOL, either with +OFFSET, or 0xADDRESS. It is
// an example of the pctl package; interrupt it to let the process go.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"ptools/pctl"
)

func main() {
	pctl.Guard() // killed by SIGKILL, we cannot let the process go ourselves
	// However we end, the process has to be let go first. If the reader of
	// our output goes away, writing fails.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	signal.Ignore(syscall.SIGPIPE)
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "functrace:", err)
		os.Exit(1)
	}
}

// call is one call of a traced function.
type call struct {
	tid  int
	name string
	args [6]uint64
}

func run(ctx context.Context, argv []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("functrace", flag.ContinueOnError)
	flags.SetOutput(stderr)
	pid := flags.Int("p", 0, "the process to trace")
	nargs := flags.Int("args", 3, "how many arguments to print, at most 6")
	switch err := flags.Parse(argv); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	if *pid <= 0 || flags.NArg() == 0 || *nargs < 0 || *nargs > 6 {
		return errors.New("usage: functrace [-args N] -p PID FUNCTION [FUNCTION]")
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	session := pctl.NewSession(&pctl.SessionOptions{KeepAwake: true})
	defer session.Close()
	process, err := session.Grab(ctx, *pid, nil)
	if err != nil {
		return err
	}
	defer process.Close()

	t := &tracer{calls: make(chan call, 1<<14)}
	for _, arg := range flags.Args() {
		if err := t.trace(ctx, process, arg); err != nil {
			return err
		}
	}
	printed := make(chan error, 1)
	go func() { // ends when calls is closed
		defer close(printed)
		if err := t.print(stdout, *nargs); err != nil {
			cancel()
			printed <- err
		}
	}()

	end, err := process.Wait(ctx)
	if errors.Is(err, context.Canceled) {
		err = nil // an interrupt is the usual end
	} else if err == nil {
		fmt.Fprintln(stderr, "functrace: process", *pid, end.Kind)
	}
	// Once the process has been let go, no handler runs any more.
	err = errors.Join(err, process.Release(context.Background()))
	close(t.calls)
	err = errors.Join(err, <-printed)
	if n := t.dropped.Load(); n > 0 {
		fmt.Fprintf(stderr, "functrace: %d calls were too fast to be printed\n", n)
	}
	return err
}

// tracer takes calls from the handlers to the printer.
type tracer struct {
	calls   chan call
	dropped atomic.Uint64
}

// trace sets a breakpoint on the function.
func (t *tracer) trace(ctx context.Context, p *pctl.Process, name string) error {
	where, err := pctl.ParseWhere(name)
	if err != nil {
		return err
	}
	// The handler runs while the calling thread stands still. It takes what it
	// needs and returns; it never waits for the printer.
	_, err = p.Break(ctx, where, func(h *pctl.Hit) {
		regs := h.Registers()
		select {
		case t.calls <- call{h.TID, name, regs.Args()}:
		default:
			t.dropped.Add(1)
		}
	})
	return err
}

// print writes the calls, and flushes whenever there is none to wait for.
func (t *tracer) print(stdout io.Writer, nargs int) error {
	w := bufio.NewWriter(stdout)
	for c := range t.calls {
		args := make([]string, nargs)
		for i := range args {
			args[i] = fmt.Sprintf("%#x", c.args[i])
		}
		fmt.Fprintf(w, "[%d] %s(%s)\n", c.tid, c.name, strings.Join(args, ", "))
		if len(t.calls) == 0 && w.Flush() != nil {
			break
		}
	}
	return w.Flush()
}
