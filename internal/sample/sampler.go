package sample

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"ptools/internal/intern"
	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/ptrace"
	"ptools/internal/source"
)

// Options say how to sample. Nil and the zero value are valid.
type Options struct {
	// Period is the time between rounds; 0 means 1 s / 99.
	Period time.Duration
	// For ends the sampling after that time; 0: sampling ends when every
	// process has ended or the context is done.
	For time.Duration
	// Begun is called when the first readings have been taken: what the
	// targets do from then on counts. It may continue a target that is held
	// at a rendezvous. An error ends the sampling.
	Begun func(context.Context) error
	// Each is called with every sample, round by round, process by process,
	// in the order of tids. The Sample is valid during the call.
	Each func(*Sample)
	// Progress is called after every round.
	Progress func(*Progress)
	// Ticks samples running threads; the sources must have been added to it. Nil: running threads are stopped.
	Ticks Ticks
	// Kernel names addresses in the kernel. Nil: ticks have no such addresses.
	Kernel func(addr uint64) string
	// Follow has the descendants of the sources sampled too; Ticks must follow them. Nil: they are not.
	Follow *Follow
	// Alone is called once with Follow, when the sources have ended a second ago and descendants still live.
	Alone func(processes int)
	// Blame records in the profile which threads hold the locks that others wait for
	// (profile.Profile.Contention). Nil: that is not recorded.
	Blame *Blame
	// Beside says what is sampled besides threads; zero: nothing.
	Beside Beside
	// Timeline records when threads were in which stack (profile.Profile.Timeline).
	Timeline bool
	// Clock replaces the machine's.
	Clock Clock
	// Marked says that the profile is read by marks while it grows. Its processor time is not reconciled in the end.
	Marked bool
	// Shared says that the program has other work than sampling. The wait for the next round then occupies
	// none of the Go runtime's processors, and costs more (napping).
	Shared bool
}

// Beside is what is sampled besides threads.
type Beside uint8

const (
	Nothing Beside = iota
	// Goroutines of Go programs (gotime). Those of a followed tree are not sampled.
	Goroutines
	// EachGoroutine is Goroutines, where each has a member of the profile of its own.
	EachGoroutine
)

// Sample is one thread in one round.
type Sample struct {
	PID, TID int
	Name     string // of the thread
	Space    *profile.Space
	Stack    profile.StackID
	PC, SP   uint64
	Regs     *ptrace.Regs // if not Partial
	Partial  bool         // only PC and SP are known
}

// Progress is the state of a sampling.
type Progress struct {
	Elapsed time.Duration
	Rounds  int64
	Late    int64 // late rounds and missed ticks
	Samples int64
	Threads int // in the last round
}

// DefaultPeriod is that of 99 samples a second, which is out of step with the
// usual periods of programs.
const DefaultPeriod = time.Second / 99

// Sampler samples some processes on one schedule.
type Sampler struct {
	opt       Options
	clock     Clock
	sched     schedule
	processes []*process
	byPID     map[int]*process
	profile   *profile.Profile
	cost      Cost
	calm      coalescing
	kernel    map[uint64]profile.Addr // levels by address
	tree      *tree                   // nil unless descendants are followed
	looks     *looks                  // Options.Ticks without timers; nil: threads are stopped by rounds
	ending    bool                    // there will be no later reading
	losses    int64                   // how often records of timers were found to be lost
	lacks     int64                   // procfs.Lacks when Run began
	began     time.Duration           // CLOCK_MONOTONIC of the first readings
	unwanted  atomic.Bool             // names that are not known yet need not be found

	pseudo
}

// pseudo has the levels that stand for no code.
type pseudo struct{ stopped, exec, exit, notStopped, unseen, worker profile.Addr }

// New returns a sampler of the sources. They must be controlled, and must not be
// held at a rendezvous once Run has called Begun.
func New(sources []*source.Process, o *Options) *Sampler {
	s := &Sampler{
		profile: profile.New(), calm: coalescing{patience: minPatience},
		byPID: make(map[int]*process), kernel: make(map[uint64]profile.Addr),
	}
	if o != nil {
		s.opt = *o
	}
	if s.opt.Period <= 0 {
		s.opt.Period = DefaultPeriod
	}
	s.profile.Timeline = s.opt.Timeline
	if s.opt.Blame != nil {
		s.profile.KnowWaits()
	}
	s.clock = s.opt.Clock
	if s.clock == nil {
		s.clock = newMonotonic(s.opt.Shared)
	}
	s.stopped = s.profile.Note("[stopped]")
	s.exec = s.profile.Note("[exec]")
	s.exit = s.profile.Note("[exit]")
	s.notStopped = s.profile.Note("[not stopped]")
	s.unseen = s.profile.Note("[running]")
	s.worker = s.profile.Note(kernelWorker)
	for _, src := range sources {
		p := newProcess(src, s)
		s.processes = append(s.processes, p)
		s.byPID[p.PID] = p
	}
	if s.opt.Follow != nil {
		s.tree = newTree(s)
	}
	return s
}

// Run samples until the time is over, every process has ended, or ctx is done;
// none of these is an error. Profile returns what has been seen in any case.
// Run must be called once only.
func (s *Sampler) Run(ctx context.Context) error {
	s.lacks = procfs.Lacks()
	start := s.begin()
	defer s.finish(start)
	if s.opt.Begun != nil {
		if err := s.opt.Begun(ctx); err != nil {
			return err
		}
	}
	// A look is never abandoned halfway: it is short (longestLook), and its visits write
	// into our buffers.
	unbroken := context.WithoutCancel(ctx)
	ctx, stop := s.whileAny(ctx)
	defer stop()
	for s.alive() && !s.lacking() && (s.opt.For <= 0 || s.sched.due() <= start+s.opt.For) {
		if err := s.clock.Until(ctx, s.sched.due()); err != nil {
			break
		}
		s.round(unbroken)
	}
	for _, p := range s.processes {
		p.roster.sayUnread()
	}
	if s.lacking() {
		return errLacking
	}
	return s.err()
}

// begin opens everything, which takes a while if there are many threads. Then it takes the first readings, which
// does not. It returns the time of the readings.
func (s *Sampler) begin() (start time.Duration) {
	if s.opt.Ticks == nil {
		if s.looks = newLooks(s); s.looks != nil {
			s.opt.Ticks = s.looks
			s.clock = newMonotonic(true) // looks are other work
		}
	}
	opened := s.clock.Now()
	if s.tree != nil {
		s.tree.begin()
	}
	for _, p := range s.processes {
		if err := p.begin(opened); err != nil && !p.endedBy(err) {
			p.over, p.err = true, err
		}
	}
	if s.opt.Ticks != nil { // earlier ticks do not count
		s.opt.Ticks.Read(func(r *perfevent.Record) {
			if r.Kind != perfevent.Tick && r.Kind != perfevent.NoUser {
				s.takeRecord(r)
			}
		})
	}
	start = s.clock.Now()
	s.began = perfevent.Now()
	s.profile.Start, s.profile.Period = time.Now(), s.opt.Period
	s.sched = newSchedule(start, s.opt.Period)
	if s.opt.Clock == nil {
		s.sched.random = rand.Int64N
		s.sched.draw()
	}
	for _, p := range s.processes {
		p.zero(start)
	}
	if s.tree != nil {
		s.tree.zero()
	}
	if s.looks != nil {
		s.looks.start()
	}
	return start
}

// whileAny returns a context that is done with ctx or when every process has
// ended. stop ends and awaits the goroutine that watches.
func (s *Sampler) whileAny(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	if s.tree != nil {
		return ctx, cancel // the rounds notice the end of the last process
	}
	watched := make(chan struct{})
	processes := s.processes
	go func() { // ended and awaited by stop
		defer close(watched)
		for _, p := range processes {
			select {
			case <-p.Control.Done():
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	return ctx, func() { cancel(); <-watched }
}

// round takes a round of every process at the tick that is due.
func (s *Sampler) round(ctx context.Context) {
	now := s.clock.Now()
	s.sched.take(now)
	s.drain()
	threads, calm := 0, true
	for _, p := range s.processes {
		if p.ended() {
			continue
		}
		p.round(ctx, now, 1+s.sched.coalesced)
		threads += len(p.roster.threads)
		calm = calm && p.calm
	}
	if s.tree != nil {
		s.tree.round(now)
	}
	s.coalesce(calm)
	if s.opt.Progress != nil {
		s.opt.Progress(&Progress{
			Elapsed: now - s.sched.start, Rounds: s.sched.taken, Late: s.sched.late + s.sched.missed,
			Samples: s.cost.Samples, Threads: threads,
		})
	}
}

// alive reports whether any process is left.
func (s *Sampler) alive() bool {
	for _, p := range s.processes {
		if !p.ended() {
			return true
		}
	}
	return s.tree != nil && s.tree.alive()
}

// finish completes the profile.
func (s *Sampler) finish(start time.Duration) {
	s.ending = true
	s.sched.ended = s.clock.Now() // the wall time of all threads ends with the last round: what follows may take long on a busy machine
	for _, q := range s.processes {
		q.spending.readTotal()
	}
	if s.looks != nil {
		s.looks.close()
	}
	s.drain()
	if s.tree != nil {
		s.tree.awaitEnds()
	}
	p := s.profile
	p.Duration = s.sched.ended - start
	p.Rounds = s.sched.taken
	s.cost.Rounds, s.cost.Late, s.cost.Missed = s.sched.taken, s.sched.late, s.sched.missed
	for _, q := range slices.Clone(s.processes) {
		if q.kin != nil && !q.kin.source {
			continue // the tree does it
		}
		q.locks.Settle()
		q.account.close()
		if !s.opt.Marked {
			q.spending.reconcile()
		}
		q.close()
	}
	if s.tree != nil {
		s.tree.finish()
	}
	p.CPU = time.Duration(p.Total().CPU)
	p.Means = s.means(&Cost{})
}

// kernelNote returns the level that stands for an address in the kernel.
func (s *Sampler) kernelNote(addr uint64) profile.Addr {
	return intern.Value(s.kernel, addr, func() profile.Addr { return s.profile.Note(s.opt.Kernel(addr) + "_[k]") })
}

// Profile returns what has been seen, after Run.
func (s *Sampler) Profile() *profile.Profile { return s.profile }

// Cost returns what it has cost, after Run.
func (s *Sampler) Cost() *Cost { return &s.cost }
