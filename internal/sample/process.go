package sample

import (
	"container/list"
	"errors"
	"slices"
	"syscall"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/pctl/control"
)

// process is the sampler's view of one source.
type process struct {
	*Source
	sampler *Sampler
	image   Image
	space   *profile.Space
	namer   *namer

	threads []*thread // by tid
	byTID   map[int]*thread
	gen     uint64
	stale   bool                    // threads must be matched with the controller's anew
	names   map[int64]profile.Addr  // notes of system calls
	waits   map[string]profile.Addr // notes of functions of the kernel

	switches switchCounts
	recent   list.List // the threads, who moved last first
	examined []*thread // in this round
	number   int64     // of this round
	present  int       // threads that have a sample in each round
	rounds   int64     // completed
	ticks    int64     // that this round may take
	calm     bool      // it could take them all

	last       time.Duration // time of the previous round
	base       time.Duration // CPU at the beginning
	total      time.Duration // CPU when it was last read
	sinceTotal time.Duration // what ticks have counted since then
	exact      bool          // the last reading is of the end
	totals     budget
	sums       budget
	unread     unread
	unlooked   []*thread // that no round has looked at, and some that one has
	over       bool      // it has ended, or can no longer be looked at
	err        error     // why, if it had not ended

	refresh refreshing
	looking looking
	ticking ticking
	crowd   crowd
	buf     []byte // stack of a passive look
	snap    Snapshot
	levels  []profile.Addr
	tids    []int
}

func newProcess(src *Source, s *Sampler) *process {
	p := &process{
		Source:  src,
		sampler: s,
		byTID:   make(map[int]*thread),
		names:   make(map[int64]profile.Addr),
		waits:   make(map[string]profile.Addr),
		stale:   true,
		buf:     make([]byte, maxStack),
	}
	p.looking.init(p)
	p.crowd.p = p
	p.ticking.init(p)
	return p
}

// begin opens the image and the threads.
func (p *process) begin(now time.Duration) error {
	if err := p.open(); err != nil && !vanished(err) {
		return err
	}
	// Without an image it has just ended, or stands between two images: the rounds
	// will show.
	p.last = now
	if p.Sum != nil {
		// Without it every round reads every thread.
		if sum, err := p.Sum(); err == nil {
			p.switches.sum = sum
		}
	}
	p.enrollAll()
	defer p.crowd.forget()
	for _, t := range p.threads {
		if _, err := p.crowd.schedStat(t); errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	return nil
}

// zero takes the first readings, which the first round's values are counted from.
func (p *process) zero(now time.Duration) {
	p.last = now
	if p.CPU != nil {
		// Without it what dead threads used goes unseen, nothing else.
		p.base, _ = p.CPU()
		p.total = p.base
	}
	p.crowd.read(len(p.threads))
	defer p.crowd.forget()
	for _, t := range p.threads {
		s, _ := p.crowd.schedStat(t) // the first round buries it if it has ended
		t.rebase = true
		p.saw(t, s)
		t.guess.from, t.guess.slices = t.used, s.Slices
	}
}

// open takes up the present image and its address space.
func (p *process) open() error {
	for _, t := range p.threads {
		p.settleThread(t)
	}
	image, err := p.Image()
	if err != nil {
		return err
	}
	if p.image = image; image.Is32Bit() {
		p.sampler.cost.Programs32 = append(p.sampler.cost.Programs32, Program32{p.PID, image.Executable()})
	}
	clear(p.names)
	p.space = p.sampler.profile.Space(p.PID, image.Executable(), image)
	p.namer = newNamer(image)
	p.refresh = refreshing{}
	clear(p.ticking.calls)
	p.switches.known = false
	for _, t := range p.threads {
		t.counted, t.know, t.bottom, t.top = false, moving, 0, 0
		p.stir(t)
	}
	return nil
}

// renew follows the process into another image. False means that it has none
// any more; that is its end, of which the controller will tell.
func (p *process) renew() bool {
	old, space, namer := p.image, p.space, p.namer
	if err := p.open(); err != nil {
		return false
	}
	if old == nil {
		return true
	}
	namer.stop()
	space.Retire()
	old.Close()
	return true
}

// ended reports whether the process is over.
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

// endedBy reports whether err says that the process is over. Control answers so from
// the moment of the end, which is a little before Done.
func (p *process) endedBy(err error) bool {
	if errors.Is(err, control.ErrEnded) || errors.Is(err, control.ErrReleased) {
		<-p.Control.Done()
	}
	return p.ended()
}

// enroll makes the list of threads that of the controller.
func (p *process) enroll() {
	p.enrollAll()
	p.crowd.forget()
}

// enrollAll is enroll. What it has read of all threads at once is as it was when they were listed.
func (p *process) enrollAll() {
	gen := p.Control.Generation()
	if gen == p.gen && !p.stale {
		return
	}
	p.gen, p.stale = gen, false
	p.unread = unread{}
	p.tids = append(p.tids[:0], p.Control.Threads()...)
	slices.Sort(p.tids)
	old := p.threads
	if fresh := len(p.tids) - len(old); p.crowd.reads() {
		p.crowd.read(len(p.tids))
	} else {
		p.crowd.read(fresh)
	}
	p.threads = make([]*thread, 0, len(p.tids))
	for _, tid := range p.tids {
		for len(old) > 0 && (old[0].tid < tid || old[0].tid == tid && p.crowd.another(old[0])) {
			p.bury(old[0])
			old = old[1:]
		}
		if len(old) > 0 && old[0].tid == tid {
			p.threads = append(p.threads, old[0])
			old = old[1:]
		} else if t := p.meet(tid); t != nil {
			p.threads = append(p.threads, t)
		}
	}
	for _, t := range old {
		p.bury(t)
	}
}

// meet opens a new thread; nil if it has gone again.
func (p *process) meet(tid int) *thread {
	var files Thread
	var name string
	var born uint64
	if r := p.crowd.record(tid); r != nil {
		files, name, born = p.Unopened(tid), r.Name(), r.Start
	} else {
		var err error
		if files, err = p.Thread(tid); err != nil {
			p.cannotRead(err)
			return nil
		}
		stat, err := files.Stat()
		if err != nil {
			p.cannotRead(err)
			files.Close()
			return nil
		}
		name = stat.Comm
	}
	t := &thread{tid: tid, files: files, born: born, id: p.sampler.profile.Thread(p.PID, tid, name)}
	p.sampler.profile.Rename(t.id, name) // the tid may have been another's
	p.byTID[tid] = t
	p.unlooked = append(p.unlooked, t)
	t.place, t.moved = p.recent.PushFront(t), p.number
	if born != 0 {
		p.rest(t) // it will be looked at with the others
	}
	p.switches.known = false // it may have counted as one that has ended
	return t
}

// bury forgets a thread that has ended.
func (p *process) bury(t *thread) {
	p.settleThread(t)
	p.recent.Remove(t.place)
	p.switches.seen -= int64(t.now.Slices)
	p.switches.known = false // how often it was put on a processor in the end is not known
	t.files.Close()
	if p.byTID[t.tid] == t {
		delete(p.byTID, t.tid)
	}
}

// settleThread counts what is under way of a thread that ends, or whose process gets another image.
func (p *process) settleThread(t *thread) {
	p.leave(t)
	p.divide(t)
	p.ticking.forgive(t)
}

// execed follows the process into the image that it has now. Whoever has called exec has taken over the
// number of the first thread.
func (p *process) execed() {
	if p.image != nil && !p.image.Stale() {
		return
	}
	p.stale = true
	p.renew()
	for _, t := range p.threads {
		t.rebase, t.inexact = true, true
	}
}

// lose buries a thread that turned out to have ended. Its tid may already be
// another thread's, so the list is made anew at the next round.
func (p *process) lose(t *thread) {
	t.verdict = skipped
	p.stale = true
	if i := slices.Index(p.threads, t); i >= 0 {
		p.threads = slices.Delete(p.threads, i, i+1)
	}
	p.bury(t)
}

// close gives back what the sampling has opened.
func (p *process) close() {
	for _, t := range p.threads {
		t.files.Close()
	}
	p.threads = nil
	p.switches.close()
	p.crowd.close()
	if p.image != nil {
		p.namer.stop()
		p.space.ResolveAll() // a list of functions compiled at run time is read only as long as it is open
		p.image.Close()
	}
}

// note returns the level that stands for a system call.
func (p *process) note(nr int64) profile.Addr {
	a, ok := p.names[nr]
	if !ok {
		name := procfs.SyscallName(nr)
		if p.image.Is32Bit() {
			name = "i386 " + procfs.SyscallName32(nr)
		}
		a = p.sampler.profile.Note("[" + name + "]")
		p.names[nr] = a
	}
	return a
}

// vanished reports the error of reading a thread that has ended.
func vanished(err error) bool { return errors.Is(err, syscall.ESRCH) }
