package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"ptools/internal/births"
	"ptools/internal/creations"
	"ptools/internal/job"
	"ptools/internal/profile"
	"ptools/internal/sample"
	"ptools/internal/source"
	"ptools/pctl"
)

// session is one run over some targets.
type session struct {
	cfg            *config
	written        *written
	stdout, stderr io.Writer
	pctl           *pctl.Session
	files          *source.Files
	targets        []*pctl.Process
	timers         *sample.Timers     // nil: running threads are stopped
	births         *births.Births     // with --follow and without timers
	creations      *creations.Counter // with --threadcreate
	binds          []func(*source.Process)
	server         *server      // with --http
	cost           *sample.Cost // of the sampling; nil before its end
	job            *job.Command // the command's, or the demo's; nil without one
	child          *job.Child   // the command, if it was let go to be sampled; nil if it is controlled
	held           *job.Held    // the same, where commands cannot be controlled
}

// run samples and writes the profile. status is the command's exit status.
func (s *session) run(ctx context.Context, status *int) (err error) {
	if len(s.cfg.pids) == 0 {
		s.job = job.NewCommand()
		defer s.job.Close()
	} else {
		defer job.Stay(s.refuseStop)()
	}
	ctx, signals := catchSignals(ctx, s.job)
	defer signals.close()
	if s.server, err = listen(s.cfg, s.stderr); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.server.close()) }()
	s.files = source.NewFiles()
	defer s.files.Close()
	defer func() {
		for _, err := range s.files.Refused() {
			fmt.Fprintf(s.stderr, "psample: %s\n", profile.Clean(err.Error()))
		}
	}()
	if err := pctl.QuietStops(); err != nil {
		return err
	}
	s.pctl = pctl.NewSession(nil)
	defer func() {
		s.pctl.Leave()
		s.births.Release() // if there was no profile
		s.endHeld()
		s.reap()
		err = errors.Join(err, s.pctl.Close())
	}()
	if s.cfg.threadCreate {
		s.creations = creations.New()
	} else if s.timers, err = sample.OpenTimers(s.cfg.timers, s.cfg.timersOptions()); err != nil {
		return err
	}
	defer s.timers.Close()
	if s.cfg.follow && s.timers == nil {
		s.births = births.New(s.cfg.period, s.files, s.cfg.wantsLines())
	}
	if err := s.acquire(ctx); err != nil {
		return s.early(err)
	}
	s.tellLeakChecks()
	if s.job != nil {
		s.job.Follow(s.targets[0])
	}
	if s.server != nil {
		s.server.readsFiles.Store(!s.cfg.follow && ownFiles(s.pids()))
	}
	if s.isCommand() {
		signals.passTo(s.targets[0].PID())
	}
	p, err := s.profile(ctx)
	s.births.Release() // a command that outlives its profile runs on by itself
	if err != nil && (p == nil || p.Total().Samples == 0) {
		return s.early(err) // an empty profile is no result, and replaces none
	}
	hints := s.hints(p)
	if s.cfg.output != "" || !errors.Is(err, errOutput) {
		err = errors.Join(err, s.write(p, hints))
	}
	s.tellMissing()
	s.tellHints(hints)
	if err != nil {
		return err
	}
	if s.isCommand() {
		s.tellWaiting(signals)
		*status, err = s.await(signals.again)
		if sig, ok := errors.AsType[signalled](err); ok {
			*status = sig.status()
			return nil
		}
	}
	if err == nil && s.server != nil && !signals.ends.Load() {
		err = s.serve(ctx, p, signals.again)
	}
	return err
}

// tellLeakChecks names the targets whose exit fails while they are traced.
func (s *session) tellLeakChecks() {
	for _, t := range s.targets {
		if s.timers == nil && !s.cfg.quiet && pctl.ChecksLeaks(t) {
			fmt.Fprintf(s.stderr, "psample: process %d has LeakSanitizer, which fails at its exit while it is sampled without timers: no report, and a status other than 0, unless LSAN_OPTIONS has detect_leaks=0\n", t.PID())
		}
	}
}

// refuseStop says why ^Z does not stop us.
func (s *session) refuseStop() {
	fmt.Fprintln(s.stderr, "psample: not stopped: what is sampled would stand still at its next signal; ^C ends the sampling")
}

func (s *session) isCommand() bool { return len(s.cfg.command) > 0 }

// profile takes the profile. It may return one together with an error.
func (s *session) profile(ctx context.Context) (*profile.Profile, error) {
	var sources []*source.Process
	for _, t := range s.targets {
		src, err := s.source(ctx, t)
		if err != nil {
			return nil, err
		}
		sources = append(sources, src)
	}
	if s.creations != nil {
		for i, bind := range s.binds {
			bind(sources[i])
		}
		defer newMeter(s.cfg, s.stderr).follow(s.creations)()
		err := s.creations.Run(ctx, s.cfg.length, s.begin)
		return s.creations.Profile(), err
	}
	return s.sample(ctx, sources)
}

// source returns a target as the sampler sees it.
func (s *session) source(ctx context.Context, t *pctl.Process) (*source.Process, error) {
	if s.child != nil {
		return source.Watch(t.PID(), s.child.Done(), s.files, s.cfg.wantsLines()), nil
	}
	if t.ReadOnly() {
		done := make(chan struct{})
		go func() { // ends with the process, or with ctx
			defer close(done)
			t.Wait(ctx)
		}()
		return source.Watch(t.PID(), done, s.files, s.cfg.wantsLines()), nil
	}
	return source.Controlled(t, s.files, s.cfg.wantsLines())
}

func (s *session) sample(ctx context.Context, sources []*source.Process) (*profile.Profile, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o := &sample.Options{Period: s.cfg.period, Beside: s.cfg.beside, For: s.cfg.length, Begun: s.begin, Timeline: s.cfg.format.Timeline() || s.server != nil}
	if s.cfg.blame {
		o.Blame, o.Timeline = s.timers.Blame(), false
	}
	if s.timers != nil {
		o.Ticks, o.Kernel = s.timers, s.timers.KernelName
	}
	if s.cfg.follow {
		o.Follow, o.Alone = s.follow(), s.tellAlone
	}
	printer := newPrinter(s.cfg, s.stdout, cancel)
	if printer != nil {
		o.Each = printer.sample
	}
	meter := newMeter(s.cfg, s.stderr)
	top, err := startTop(s.cfg, s.title(), s.stdout, cancel)
	if err != nil {
		return nil, err
	}
	defer top.close()
	var sampler *sample.Sampler
	o.Progress = func(p *sample.Progress) {
		printer.flush()
		meter.show(p)
		top.progress(sampler, p, s.cfg.options())
		s.server.progress(sampler)
	}
	// The sampler sleeps on one of the runtime's processors (sample.Options.Clock). With
	// one more, the control goroutines keep as many as they had.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	sampler = sample.New(sources, o)
	err = sampler.Run(ctx)
	s.cost = sampler.Cost()
	s.reap()
	meter.clear()
	top.close()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause)
	}
	if s.cfg.top && !s.cfg.quiet {
		s.tellEnded()
	}
	if !s.cfg.quiet {
		for _, t := range s.targets {
			if pctl.DumpsCore(t) {
				fmt.Fprintf(s.stderr, "psample: process %d is dumping core: its threads execute nothing any more\n", t.PID())
			}
		}
	}
	if err == nil && !s.cfg.quiet {
		for _, program := range sampler.Cost().Programs32 {
			fmt.Fprintf(s.stderr, "psample: %v\n", program)
		}
		fmt.Fprintf(s.stderr, "psample: %v\n", sampler.Cost())
	}
	p := sampler.Profile()
	if c := p.Contention(); c != nil {
		p = c
	}
	return p, err
}

// pids returns the numbers of the targets.
func (s *session) pids() []int {
	var pids []int
	for _, t := range s.targets {
		pids = append(pids, t.PID())
	}
	return pids
}

// follow says how descendants of the targets are sampled.
func (s *session) follow() *sample.Follow {
	f := &sample.Follow{Files: s.files, Lines: s.cfg.wantsLines()}
	if s.births != nil {
		f.Births, f.Source = s.births, s.births.Source
		return f
	}
	f.Source = func(pid int, done <-chan struct{}) *source.Process {
		return source.Watch(pid, done, s.files, s.cfg.wantsLines())
	}
	return f
}

// tellAlone says why sampling continues when the targets have ended.
func (s *session) tellAlone(processes int) {
	s.reap()
	if !s.cfg.quiet {
		fmt.Fprintf(s.stderr, "psample: what was to be sampled has ended, %d of its descendants have not; ^C ends the sampling\n", processes)
	}
}

// title names what is sampled.
func (s *session) title() string {
	var names []string
	for _, t := range s.targets {
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", t.PID())) // without a name the number is shown
		name := profile.Clean(strings.TrimSuffix(string(comm), "\n"))
		names = append(names, strings.TrimSpace(fmt.Sprintf("%s (pid %d)", name, t.PID())))
	}
	return strings.Join(names, ", ")
}

// begin continues the command or the demo, which has waited for that.
func (s *session) begin(ctx context.Context) error {
	if s.job == nil {
		return nil
	}
	switch {
	case s.held != nil:
		if err := s.held.Begin(); err != nil {
			return statusError{job.StartStatus(err), err}
		}
		s.child.Begin()
		return nil
	case s.child != nil:
		return s.letGo(ctx)
	}
	if _, held := s.targets[0].Held(); !held {
		return pctl.ErrEnded
	}
	return s.targets[0].Continue(ctx)
}
