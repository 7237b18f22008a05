package sample

import (
	"errors"
	"syscall"
	"time"

	"ptools/internal/locks"
	"ptools/internal/profile"
	"ptools/internal/source"
	"ptools/pctl/control"
)

// process is the sampler's view of one source. Its parts know it by their field p.
type process struct {
	*source.Process
	sampler *Sampler
	image   source.Image
	space   *profile.Space
	namer   *namer

	roster     roster
	activity   activity
	account    account
	spending   spending
	outside    outside
	looking    looking
	ticking    ticking
	crowd      crowd
	refresh    refreshing
	locks      *locks.Table // nil without Options.Blame
	goroutines goroutining

	kin *kin // its entry in a tree; nil without one
	coalesced
	over bool  // it has ended, or can no longer be looked at
	err  error // why, if it had not ended
}

// coalesced is the part of a process in that one round stands for several.
type coalesced struct {
	ticks int64 // number of ticks that this round may take
	calm  bool  // the round could take all of them
}

func newProcess(src *source.Process, s *Sampler) *process {
	p := &process{Process: src, sampler: s}
	p.roster = roster{p: p, byTID: make(map[int]*thread), stale: true}
	p.activity.p, p.account.p, p.spending.p, p.crowd.p = p, p, p, p
	p.outside.init(p)
	p.looking.init(p)
	p.ticking.init(p)
	p.goroutines.p = p
	return p
}

// begin opens the image and the threads.
func (p *process) begin(now time.Duration) error {
	p.locks = newLocks(p)
	if err := p.open(); err != nil && !vanished(err) {
		return err
	}
	// Without an image it has just ended, or is between two images. The next
	// rounds will show which.
	p.account.last = now
	if p.Sum != nil {
		// Without the sum every round reads every thread.
		if sum, err := p.Sum(); err == nil {
			p.activity.switches.sum = sum
		}
	}
	p.roster.enrollAll()
	defer p.crowd.forget()
	if p.locks != nil && p.sampler.opt.Ticks != nil {
		p.crowd.open() // it takes too long for a round
	}
	for _, t := range p.roster.threads {
		if _, err := p.crowd.schedStat(t); errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	return nil
}

// zero takes the first readings, from which the values of the first round are counted.
func (p *process) zero(now time.Duration) {
	p.account.last = now
	if p.CPU != nil {
		// Without this reading only the processor time of ended threads is missing.
		p.spending.base, _ = p.CPU()
		p.spending.total = p.spending.base
	}
	p.crowd.read(len(p.roster.threads))
	defer p.crowd.forget()
	for _, t := range p.roster.threads {
		s, _ := p.crowd.schedStat(t) // if the thread has ended, the first round buries it
		t.usage.rebase = true
		p.activity.saw(t, s)
		t.guess.from, t.guess.slices = t.usage.used, s.Slices
	}
}

// open opens the present image and its address space.
func (p *process) open() error {
	for _, t := range p.roster.threads {
		p.settleThread(t)
	}
	p.ticking.execing.open()
	image, err := p.Image()
	if err != nil {
		return err
	}
	p.ticking.execing.take(image)
	if p.image = image; image.Is32Bit() {
		p.sampler.cost.Programs32 = append(p.sampler.cost.Programs32, Program32{p.PID, image.Executable()})
	}
	clear(p.outside.names)
	p.space = p.sampler.profile.Space(p.PID, image.Executable(), image)
	p.locks.Open(image, p.space)
	var q *queue
	if p.sampler.opt.Marked {
		q = queueOf(p.PID)
	}
	p.namer = newNamer(image, q)
	p.goroutines.begin()
	p.refresh = refreshing{}
	if s := p.sampler; s.opt.Ticks == nil || s.looks != nil {
		p.refresh.blind, p.refresh.last = leastBlind, p.account.last
	}
	clear(p.ticking.calls)
	p.activity.switches.known = false
	for _, t := range p.roster.threads {
		t.view.counted, t.blocked.know, t.blocked.bottom, t.blocked.top = false, moving, 0, 0
		p.activity.stir(t)
	}
	return nil
}

// renew follows the process into another image. It returns false if there is
// none any more: then the process has ended, as the controller will report.
func (p *process) renew() bool {
	old, refresh := p.mapped(), p.refresh
	p.locks.Close()
	p.goroutines.end()
	if err := p.open(); err != nil {
		return false
	}
	if old.image == nil {
		return true
	}
	refresh.settle(old)
	old.space.Retire()
	old.image.Close()
	return true
}

// ended reports whether the process has ended or can no longer be sampled.
func (p *process) ended() bool {
	if p.over {
		return true
	}
	select {
	case <-p.Control.Done():
		p.over = true
	default:
	}
	return p.over
}

// endedBy reports whether err says that the process has ended. Control returns such
// errors from the moment of the end, which is a little before Done.
func (p *process) endedBy(err error) bool {
	if errors.Is(err, control.ErrEnded) || errors.Is(err, control.ErrReleased) {
		<-p.Control.Done()
	}
	return p.ended()
}

// settleThread counts the pending samples of a thread that ends, or whose process gets another image.
func (p *process) settleThread(t *thread) {
	p.locks.Left(t)
	p.account.leave(t)
	p.spending.divide(t)
	p.ticking.forgive(t)
	p.account.restReady(t)
}

// execed follows the process into its present image. The thread that has called execve(2) has taken over the
// number of the first thread.
func (p *process) execed() {
	if p.image != nil && !p.image.Stale() {
		return
	}
	p.roster.stale = true
	p.renew()
	for _, t := range p.roster.threads {
		t.usage.rebase, t.usage.inexact = true, true
	}
}

// close closes what the sampling has opened.
func (p *process) close() {
	for _, t := range p.roster.threads {
		t.files.Close()
	}
	p.roster.threads = nil
	p.activity.switches.close()
	p.crowd.close()
	if p.image != nil {
		p.goroutines.end()
		if p.sampler.unwanted.Load() {
			p.namer.stop()
		} else {
			p.refresh.settle(p.mapped()) // a list of functions compiled at run time can be read only while the image is open
		}
		p.locks.Close()
		p.image.Close()
	}
}

// threadID returns the entry of a thread in the profile.
func (p *process) threadID(tid int, name string) profile.ThreadID {
	if p.kin != nil {
		return p.sampler.profile.ThreadOf(p.kin.id, tid, name)
	}
	return p.sampler.profile.Thread(p.PID, tid, name)
}

// vanished reports whether err is that of reading a thread that has ended.
func vanished(err error) bool { return errors.Is(err, syscall.ESRCH) }
