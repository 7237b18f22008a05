package sample

import (
	"context"
	"errors"
	"time"

	"ptools/internal/births"
	"ptools/internal/sample"
	"ptools/internal/source"
	"ptools/pctl"
)

// Options of Run and RunProcess. Nil means the zero value.
type Options struct {
	// Period is the time between samples of a thread; zero: 99 samples a second.
	Period time.Duration
	// For ends the sampling after that time; zero: it ends with the process or the context.
	For time.Duration
	// Timers says how running threads are sampled; zero: TimersAuto.
	Timers Timers
	Frames
	// Follow samples all descendants of the process too, present and future ones, until all have ended. Without timers
	// this takes control of them. Those that the client does not follow itself (pctl.Follow) are let go at the end.
	// False: only the process is sampled.
	Follow bool
	// Blame records which threads held the locks that others waited for ([Profile.Contention]). No thread is
	// stopped for it. False: Contention returns nil.
	Blame bool
}

// Frames says what the frames of stacks are. The zero value: functions of the process.
type Frames struct {
	// Kernel adds the kernel's functions to a stack if a timer interrupted the thread in the kernel. It needs
	// timers and the right to read /proc/kallsyms. False: such a stack begins with the system call.
	Kernel bool
	// Lines resolves addresses to source lines and inlined functions, which pprof, speedscope and JSON show.
	// It reads the debug information of each file once. False: functions only.
	Lines bool
}

// Timers says whether timers of the processors sample the running threads.
type Timers uint8

const (
	// TimersAuto uses timers where they can be had, and stops threads elsewhere.
	TimersAuto Timers = Timers(sample.TimersAuto)
	// TimersOff stops threads.
	TimersOff Timers = Timers(sample.TimersOff)
	// TimersOnly uses timers, or fails.
	TimersOnly Timers = Timers(sample.TimersOnly)
)

// Run samples the process until o.For has passed, the process has ended, or ctx is done. None of these is an
// error. If it returns a profile together with an error, the profile has what was sampled until then. If the
// process cannot be grabbed, the error is that of pctl's Session.Grab.
func Run(ctx context.Context, pid int, o *Options) (_ *Profile, err error) {
	r, err := open(o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	s := pctl.NewSession(&pctl.SessionOptions{CacheLimit: -1})
	defer func() {
		s.Leave()
		r.births.Release()
		err = errors.Join(err, s.Close())
	}()
	p, err := s.Grab(ctx, pid, &pctl.GrabOptions{ReadOnly: r.timers != nil})
	if err != nil {
		return nil, err
	}
	return r.run(ctx, p)
}

// RunProcess is Run for a process that is grabbed or created already. A process that is held at a rendezvous is
// continued when sampling begins. So a created process is sampled from its first instruction. A process that was
// grabbed read-only can be sampled by timers only; without them the error satisfies pctl.ErrReadOnly.
func RunProcess(ctx context.Context, p *pctl.Process, o *Options) (*Profile, error) {
	r, err := open(o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	defer r.births.Release()
	return r.run(ctx, p)
}

// runner is one run.
type runner struct {
	*Options
	timers *sample.Timers // nil: threads are stopped
	births *births.Births // with Follow and without timers
	files  *source.Files
}

func open(o *Options) (*runner, error) {
	if o == nil {
		o = new(Options)
	}
	period := o.Period
	if period <= 0 {
		period = sample.DefaultPeriod
	}
	timers, err := sample.OpenTimers(sample.UseTimers(o.Timers), sample.TimersOptions{Period: period, Kernel: o.Kernel, Follow: o.Follow, Blame: o.Blame})
	if err != nil {
		return nil, err
	}
	r := &runner{Options: o, timers: timers, files: source.NewFiles()}
	if o.Follow && timers == nil {
		r.births = births.New(period, r.files, o.Lines)
	}
	return r, nil
}

func (r *runner) close() {
	r.timers.Close()
	r.files.Close()
}

func (r *runner) run(ctx context.Context, p *pctl.Process) (*Profile, error) {
	ctx, cancel := context.WithCancel(ctx)
	src, watch, err := r.source(ctx, p)
	if err != nil {
		cancel()
		return nil, err
	}
	defer func() { cancel(); <-watch }()
	if err := r.timers.Want(p.PID()); err != nil {
		return nil, err
	}
	o := &sample.Options{Period: r.Period, For: r.For, Shared: true, Begun: func(ctx context.Context) error {
		if _, held := p.Held(); held {
			return p.Continue(ctx)
		}
		return nil
	}}
	if r.Follow {
		if err := r.births.Follow(ctx, p); err != nil {
			return nil, err
		}
		o.Follow = &sample.Follow{Files: r.files, Lines: r.Lines, Source: func(pid int, done <-chan struct{}) *source.Process {
			return source.Watch(pid, done, r.files, r.Lines)
		}}
		if r.births != nil {
			o.Follow.Births, o.Follow.Source = r.births, r.births.Source
		}
	}
	if r.Blame {
		o.Blame = r.timers.Blame()
	}
	if r.timers != nil {
		o.Ticks, o.Kernel = r.timers, r.timers.KernelName
	}
	sampler := sample.New([]*source.Process{src}, o)
	err = sampler.Run(ctx)
	taken := sampler.Profile()
	taken.Resolve() // while its files are open
	return &Profile{p: taken, cost: sampler.Cost().String()}, err
}

// source returns the process as the sampler sees it. The goroutine that it starts ends with ctx at the
// latest, and closes watch then.
func (r *runner) source(ctx context.Context, p *pctl.Process) (_ *source.Process, watch chan struct{}, err error) {
	watch = make(chan struct{})
	if !p.ReadOnly() || r.timers == nil {
		close(watch)
		src, err := source.Controlled(p, r.files, r.Lines)
		return src, watch, err
	}
	go func() { // ends with the process, or with ctx
		defer close(watch)
		p.Wait(ctx)
	}()
	return source.Watch(p.PID(), watch, r.files, r.Lines), watch, nil
}
