package sample

import (
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// refreshing says when to read the maps of a process again.
//
// Reading the symbols of a file for the first time takes up to seconds. The namer does it, so that nobody waits for it. It
// looks up names before the maps are read again, and afterwards once more for the addresses that were in no code.
type refreshing struct {
	needed  bool          // a stack ended where no code is known
	after   time.Duration // earliest time of the next reading
	backoff time.Duration
	handed  bool // addresses that had been met when the maps were to be read are with the namer
	relearn bool // addresses that were in no code are being looked up again

	blind time.Duration // without records of mappings: after how long the maps are read in any case
	last  time.Duration // when they were read
}

const (
	minRefresh = 50 * time.Millisecond // time between readings, after one that helped
	maxRefresh = 5 * time.Second       // the same after many that did not help

	// leastBlind is how often the maps are read if nothing reports what is mapped. It takes at most one part in blindShare of the time.
	leastBlind = 100 * time.Millisecond
	blindShare = 200
)

// due reports whether the maps should be read again now. They are read soon
// after an address was unknown, and less and less often if that finds nothing.
// They are read from time to time in any case, to notice unmapped code. If nothing reports what is mapped, other code may be
// where code was, and they are read more often.
func (r *refreshing) due(now time.Duration) bool {
	return r.may(now) && (r.needed || now >= r.after+maxRefresh) || r.blind > 0 && now >= r.last+r.blind
}

// may reports whether the maps may be read again.
func (r *refreshing) may(now time.Duration) bool { return now >= r.after }

// done doubles the time to the next reading.
func (r *refreshing) done(now time.Duration) {
	r.needed = false
	r.backoff = min(max(2*r.backoff, minRefresh), maxRefresh)
	r.after = now + r.backoff
}

// helped takes note of the end of a stack that was unwound again.
func (r *refreshing) helped(end unwind.End) {
	if !source.RanOut(end) {
		r.backoff = 0
	}
}

// mapped is what belongs to one image of a process.
type mapped struct {
	image source.Image
	space *profile.Space
	namer *namer
}

// remap has the maps read again if due is true, and takes over the names that are known since they were read last. The
// namer must be idle, and gets new addresses after each call. The maps are read in the second call, when the addresses
// that had been met in the first have their names. Those that were met since are looked up in the new maps.
func (r *refreshing) remap(m mapped, due bool, now time.Duration) (read bool) {
	r.learn(m)
	switch {
	case !due:
		return false
	case !r.handed:
		r.handed = true
		return false
	}
	r.read(m, now)
	return true
}

// read reads the maps. The namer is idle.
func (r *refreshing) read(m mapped, now time.Duration) {
	r.learn(m)
	m.space.Resolve(m.namer.handed - m.space.Resolved())
	begun := time.Now()
	m.image.Refresh()
	if r.last = now; r.blind > 0 {
		r.blind = min(max(blindShare*time.Since(begun), leastBlind), maxRefresh)
	}
	m.namer.again(m.space.Foreign())
	r.relearn, r.handed = true, false
	r.done(now)
}

// learn takes over the names of addresses that were in no code. They have been looked up since.
func (r *refreshing) learn(m mapped) {
	if r.relearn {
		m.space.Learned()
		r.relearn = false
	}
}

// settle waits until all addresses have their names. The namer takes no more.
func (r *refreshing) settle(m mapped) {
	m.namer.stop()
	m.space.ResolveAll()
	r.learn(m)
}

func (p *process) mapped() mapped { return mapped{p.image, p.space, p.namer} }

// takeMap takes over a mapping of code that the kernel has reported. Ticks before it are of the code that was there.
func (p *process) takeMap(m *perfevent.Mapped) {
	if p.image != nil && !p.image.Stale() && p.image.Mapped(m) { // what comes behind an exec is in the next image
		clear(p.ticking.calls)
		p.refresh.needed = true // its object has more mappings
	}
}

// hasCode reports whether the code that a thread was in is known. If it is not, other code may have been there when the maps
// were read: they are read again. If it is not known then, it is gone. The zero Map is not checked.
func (p *process) hasCode(m *procfs.Map) bool {
	if m.End == 0 || p.image.HasCode(m) {
		return true
	}
	p.image.Refresh()
	clear(p.ticking.calls)
	p.refresh.needed = true // addresses that were in no code are looked up again
	return p.image.HasCode(m)
}

// learnt reads the maps again if a stack ended where no code is known, and reports whether the stack is to be
// unwound again. There may be no other round in which its thread is met.
func (p *process) learnt(end unwind.End) bool {
	now := p.account.last
	if !source.RanOut(end) || !p.refresh.may(now) || !p.namer.finished(p.space) {
		return false
	}
	p.refresh.read(p.mapped(), now)
	p.lookAgain()
	return true
}

// lookAgain has threads looked at again whose stacks ended where no code was known. A further look at those that are not to be
// stopped would be a further stop.
func (p *process) lookAgain() {
	for _, t := range p.roster.threads {
		if source.RanOut(t.view.end) && t.blocked.call != concealed {
			t.blocked.know = moving
			p.activity.stir(t)
		}
	}
}
