package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"ptools/internal/check"
	"ptools/internal/clean"
	"ptools/internal/job"
	"ptools/internal/usage"
	"ptools/pctl"
)

// run is the whole command. Its error is an exit status (report).
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	job.SayLost("pgrab", stdout, stderr)
	o, err := parse(args)
	if text, ok := errors.AsType[usage.Text](err); ok {
		if _, err = io.WriteString(stdout, string(text)); err != nil {
			err = writeError(err)
		}
		return err
	}
	if asked, ok := errors.AsType[check.Request](err); ok {
		if err = asked.Write(ctx, stdout); err != nil {
			err = writeError(err)
		}
		return err
	}
	if err != nil {
		return err
	}
	job.FetchDebug(ctx, "pgrab", stderr, o.command, o.pids)
	g := &grabber{options: o, prompt: prompt{in: stdin}, stderr: stderr, interactive: job.IsTerminal(stdin) && job.IsTerminal(stderr)}
	if len(o.command) != 0 {
		g.job = job.NewCommand()
		defer g.job.Close()
	} else {
		defer job.Stay(g.refuseStop)()
	}
	ctx, stop := untilSignal(ctx, g.job, g.leave)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.letGo = cancel
	if o.hits == 0 && o.form == formText && o.wantsHits() && job.IsTerminal(stdout) {
		o.hits, g.limited = mostShown, true
	}

	named := func(t *pctl.Thread) ([]pctl.Frame, error) {
		of := (*pctl.Thread).Calls
		if o.detail == detailAll {
			of = (*pctl.Thread).Stack
		}
		found, err := of(t)
		job.NoteLack(err)
		return found, err
	}
	var f format = text{named, o.stacks == eachStack}
	if o.form == formJSON {
		f = jsonLines{named}
	}
	if err := pctl.QuietStops(); err != nil {
		return err
	}
	so := &pctl.SessionOptions{KeepAwake: len(o.breaks) != 0}
	if o.debug {
		so.Trace = tracer{g}
	}
	g.session = pctl.NewSession(so)
	g.out = newOutput(stdout, f, func(error) { cancel() })
	if o.follow {
		var stop func()
		g.tree, stop = newTree(ctx, g)
		defer stop()
	}
	if len(o.command) != 0 {
		err = g.create(ctx)
	} else {
		err = g.grabAll(ctx)
	}
	if g.tree != nil && g.tree.wait() && err == nil {
		err = status(1)
	}
	if len(o.breaks) != 0 && len(g.counts) != 0 {
		g.out.put(&record{counts: g.counts})
	}
	return g.finish(err)
}

// finish waits for the output, tells what was missing, and ends the session. err is what the run has come to.
func (g *grabber) finish(err error) error {
	g.out.close()
	if werr := g.out.wait(); werr != nil {
		err = writeError(werr)
	}
	for _, unread := range g.session.UnreadFiles() {
		g.complain(unread)
	}
	for _, missing := range g.session.Missing() {
		g.complain(missing)
	}
	if err == nil {
		err = job.Incomplete()
	}
	if cerr := g.session.Close(); err == nil {
		err = cerr
	}
	return err
}

// grabber is a run of the command: what its targets share.
type grabber struct {
	*options
	session     *pctl.Session
	out         *output
	prompt      prompt
	interactive bool         // a user is at the terminal, and can be told what is waited for
	job         *job.Command // nil without one
	left        bool         // leave has said so
	limited     bool         // the limit of hits is that of a terminal
	letGo       func()       // has all processes of -p let go
	flood       flood
	tree        *tree        // with --follow
	copies      atomic.Int64 // number of copied threads of hits whose event has not come yet

	mu     sync.Mutex
	stderr io.Writer
	counts []count // counts of the targets that have been let go
}

// complain prints an error of one process; the others continue.
func (g *grabber) complain(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fmt.Fprintln(g.stderr, complaint(err))
}

// tracer writes the traces of --debug.
type tracer struct{ *grabber }

func (t tracer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stderr.Write(p)
}

// refuseStop says why ^Z does not stop us.
func (g *grabber) refuseStop() {
	g.complain(errors.New("not stopped: what is grabbed would stand still at its next signal; ^C lets it go"))
}

// leave says that a signal does not end us. It says so only once, however often the
// command sends the signal.
func (g *grabber) leave(sig os.Signal) {
	if !g.left {
		g.left = true
		g.complain(fmt.Errorf("%v: left to the command; SIGTERM is for pgrab", sig))
	}
}

// note tells the user something about a process that is no event.
func (t *target) note(text string) {
	t.grabber.mu.Lock()
	defer t.grabber.mu.Unlock()
	fmt.Fprintf(t.stderr, "pgrab: %d: %s\n", t.p.PID(), clean.Text(text))
}

// grabAll grabs every process of -p and stays with it until its end.
func (g *grabber) grabAll(ctx context.Context) error {
	errs := make([]error, len(g.pids))
	var wg sync.WaitGroup
	for i, pid := range g.pids {
		wg.Go(func() {
			err := g.grab(ctx, pid)
			var told status
			if err != nil && !errors.As(err, &told) {
				g.complain(err)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return status(1)
		}
	}
	return nil
}

func (g *grabber) grab(ctx context.Context, pid int) error {
	if g.goroutines != noGoroutines {
		if done, err := g.lookAt(ctx, pid); done {
			return err
		}
	}
	p, err := g.session.Grab(ctx, pid, &pctl.GrabOptions{Stop: g.stop, Release: g.release, Linker: g.showsEvents() && g.limit != 0, Trap: g.trap, Follow: g.tree.follow()})
	if err != nil {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return nil // we were asked to let go before we had grabbed it
		}
		if g.found && errors.Is(err, pctl.ErrNoProcess) {
			return nil // it has ended since it was looked for
		}
		return err
	}
	t := newTarget(g, p)
	if !slices.Contains(g.stop, pctl.PointGrab) {
		t.plant(ctx)
	}
	_, err = t.watch(g.tree.within(ctx))
	return err
}

// create starts the command and returns its exit status.
func (g *grabber) create(ctx context.Context) error {
	path, err := job.LookPath("pgrab", g.command[0])
	if err != nil {
		return startError{&pctl.Error{Op: "create " + g.command[0], Err: err}}
	}
	// Breakpoints must be set, and the stream of events must be open, before
	// the first instruction.
	stop := append([]pctl.Point{pctl.PointCreate}, g.stop...)
	p, err := g.session.Create(ctx,
		&pctl.Command{Path: path, Args: g.command},
		&pctl.CreateOptions{Stop: stop, Release: g.release, Linker: g.showsEvents(), Trap: g.trap, Follow: g.tree.follow()})
	if err != nil {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return nil
		}
		return startError{err}
	}
	g.job.Follow(p)
	end, err := newTarget(g, p).watch(g.tree.within(ctx))
	if err != nil {
		return err
	}
	switch {
	case end.Kind == pctl.KindUndead && job.EndStatus(end) != 0:
		return status(job.EndStatus(end))
	case end.Kind == pctl.KindReleased && g.release == pctl.ModeKill:
		return status(128 + int(syscall.SIGKILL))
	case end.Kind == pctl.KindLost:
		return status(1)
	}
	return nil
}
