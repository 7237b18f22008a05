package sample

import (
	"os"
	"slices"
	"time"

	"ptools/internal/profile"
	"ptools/internal/source"
)

const (
	// maxLooked bounds how many descendants are looked at in rounds at the same time.
	maxLooked = 512
	// lookAfter is how many rounds a process lives before it is looked at.
	lookAfter = 2
	// leastAge is how long it lives at least before that, whatever the rate.
	leastAge = 100 * time.Millisecond
	// freeOpens is how long processes are opened before that is held down to a share: the first one has files read that the
	// others share, and would put them off for seconds.
	freeOpens = 200 * time.Millisecond
)

// treeNames has names looked up from time to time, not in each round, because each time another thread has to wake for
// it.
type treeNames struct {
	namer *namer
	last  time.Duration
}

const nameEvery = 100 * time.Millisecond

func (n *treeNames) step(s *profile.Space, now time.Duration) {
	if now-n.last >= nameEvery {
		n.last = now
		n.namer.step(s)
	}
}

// round begins to look at processes that have lived for a while.
func (t *tree) round(now time.Duration) {
	t.names.step(t.space, now)
	t.pace.adapt(now, t.sampler.cost.Ticks, t.ticks.Period())
	t.sayAlone(now)
	if !t.opens.due(now) {
		return
	}
	s := t.sampler
	age := max(lookAfter*s.opt.Period, leastAge)
	latest := t.monotonic(now) - age // a process that is looked at was born before that
	begun, opened := s.clock.Now(), false
	used, _ := source.ProcessorTime(os.Getpid())
	for _, k := range t.living {
		if k.proc != nil || k.refused || k.born > latest && k.born != t.start {
			continue
		}
		if t.looked >= maxLooked {
			t.sampler.cost.Followed.Unlooked = max(t.sampler.cost.Followed.Unlooked, int64(len(t.living)-t.looked))
			break
		}
		t.look(k, now)
		opened = true
		if s.clock.Now()-begun > s.opt.Period/4 {
			break
		}
	}
	if opened { // what waiting for a processor took is no cost of ours
		now, _ := source.ProcessorTime(os.Getpid())
		ended := s.clock.Now()
		t.opens.took(max(begun, ended-(now-used)), ended, 20)
	}
}

// sayAlone calls Options.Alone when the sources have ended and descendants still live.
func (t *tree) sayAlone(now time.Duration) {
	s := t.sampler
	if s.opt.Alone == nil || t.alone < 0 {
		return
	}
	for _, p := range s.processes {
		if p.kin.source && !p.ended() {
			return
		}
	}
	switch {
	case t.alone == 0:
		t.alone = now
	case now-t.alone > time.Second:
		t.alone = -1
		s.opt.Alone(len(t.living))
	}
}

// look has a process looked at in rounds.
func (t *tree) look(k *kin, now time.Duration) {
	s := t.sampler
	k.done = make(chan struct{})
	src := t.source(k)
	if src == nil {
		return
	}
	p := newProcess(src, s)
	p.kin = k
	err := p.begin(now)
	if err != nil || p.image == nil {
		close(k.done)
		t.abandon(p)
		if err != nil {
			k.refused = true
			s.cost.Followed.Refused++
		}
		return
	}
	p.zero(now)
	k.skip(t.monotonic(now))
	k.proc, k.since = p, now
	t.looked++
	s.processes = append(s.processes, p)
}

// source returns a process as a source for rounds; nil if it cannot be looked at now.
func (t *tree) source(k *kin) *source.Process {
	if t.births != nil {
		k.readName() // otherwise its end has the name
	}
	return t.sampler.opt.Follow.Source(k.pid, k.done)
}

// abandon closes what begin has opened before it failed.
func (t *tree) abandon(p *process) {
	if p.image != nil {
		t.move(p.kin, p.space)
	}
	p.close()
}

// unlook ends the rounds of a process that has ended, or executes another program.
func (t *tree) unlook(k *kin) {
	p := k.proc
	if p == nil || k.source {
		return
	}
	s := t.sampler
	if k.died != 0 {
		close(k.done)
	}
	for _, th := range p.roster.threads {
		p.settleThread(th)
		th.files.Close()
	}
	p.roster.threads, p.over = nil, true
	p.ticking.pay()
	p.locks.Close()
	p.refresh.learn(p.mapped())
	p.activity.switches.close()
	p.crowd.close()
	k.shown += p.account.last - k.since
	k.drawn = t.monotonic(p.account.last)
	t.move(k, p.space)
	t.closeImage(p.image, p.namer)
	if i := slices.Index(s.processes, p); i >= 0 {
		s.processes = slices.Delete(s.processes, i, i+1)
	}
	k.proc = nil
	t.looked--
}

// closeImage ends the namer of an image, which may be in the middle of reading a file, and closes the image. finish
// waits for it.
func (t *tree) closeImage(image source.Image, names *namer) {
	t.closers <- struct{}{}
	go func() { // ends when the file is read
		defer func() { <-t.closers }()
		names.stop()
		image.Close()
	}()
}

// move adds the stacks of a process to those of the tree. The exception is a process that has run code in no file, or in
// one that may not be read, or that has had other code at the same addresses: only its own image knows the names.
func (t *tree) move(k *kin, s *profile.Space) {
	if t.births != nil || k.maps.former {
		s.Retire() // without timers it is not known where its files are
		return
	}
	for _, a := range s.Code() {
		i := k.maps.find(source.LookedUp(a))
		if i < 0 {
			continue
		}
		m := &k.maps.maps[i].Map
		if file := t.files.of(m); file == nil || t.files.open(file, m, k.pid, k.ppid).File() == nil {
			s.Retire()
			return
		}
	}
	s.MoveTo(t.space, func(a profile.Addr) profile.Addr { return t.unwinder.place(k, a) })
}

// awaitEnds waits until the processor time of all ended processes is known, or will not become known. A thread has left
// its process before it gives up its processor for the last time, which is when its time is reported: on a busy machine it
// waits for a processor in between.
func (t *tree) awaitEnds() {
	for others := time.Now().Add(100 * time.Millisecond); t.unsettled(time.Now().Before(others)); {
		time.Sleep(time.Millisecond)
		t.settleEnds()
	}
}

// unsettled reports whether the end of an ended process's last thread was not read yet, or, if others counts, that of any
// of its threads.
func (t *tree) unsettled(others bool) bool {
	for _, list := range t.dead {
		for _, k := range list {
			if others || k.last == 0 {
				return true
			}
		}
	}
	return false
}
