package perfevent

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// The kernel lifts all probes of a link together. To lift some, a set of links is made for the others, beside the one that counts. Each set
// has a generation, which is in the cookies of its probes, and a word says which generation counts: so the new set counts from one
// moment on, and the old one up to it. A hit in that moment runs both programs, the newer first: if the word changes between them neither counts the
// call. An end counts whatever its generation, if the call is still open.

// linkSets are what is known of the sets of a Calls.
type linkSets struct {
	generation uint64                      // of the links that are made now
	old        []callLink                  // links of the set that is replaced
	closers    [generationMask + 1]*Closer // of the links of each generation
}

// Generations follow each other in turn, so that a set need not wait until the one before is lifted. Two more are those of probes that stand beside
// the set: those of a window count while wordWindow says so, and those of a survey count nothing but hits.
const (
	generations    = 6
	windowed       = generations
	surveyed       = generations + 1
	generationMask = 7
)

func newLinkSets() (s linkSets) {
	for i := range s.closers {
		s.closers[i] = NewCloser()
	}
	return s
}

// Words of a function behind the statistics: its CallHits, and the time from which on its calls are followed to their ends.
const (
	wordsHits = 3
	wordSince = 2
)

// allWords is the size of the map of words. The hits are behind the statistics.
func (m *callMaps) allWords() int { return m.hits() + wordsHits*m.functions }

// hits is where the words for hits begin.
func (m *callMaps) hits() int { return wordsBefore + wordsEach*(m.functions+m.most) }

// hit counts a hit. The number of the function is in its variable.
func (a *assembly) hit(m callMaps) {
	a.add(instruction{op: bpfLoadW, dst: 1, src: 10, off: callKey})
	a.jump(instruction{op: bpfJumpGE, dst: 1, imm: int32(m.functions)}, "out")
	a.add(
		instruction{op: bpfMulImm, dst: 1, imm: 8 * wordsHits},
		instruction{op: bpfLoad64, dst: 2, src: unix.BPF_PSEUDO_MAP_VALUE, imm: int32(m.words)}, instruction{imm: int32(8 * m.hits())},
		instruction{op: bpfAddReg, dst: 2, src: 1},
		instruction{op: bpfMovReg, dst: 1, src: 7},
		instruction{op: bpfRightImm, dst: 1, imm: callStepped},
		instruction{op: bpfAndImm, dst: 1, imm: 1},
		instruction{op: bpfLeftImm, dst: 1, imm: 3},
		instruction{op: bpfAddReg, dst: 2, src: 1},
		instruction{op: bpfMovImm, dst: 1, imm: 1},
		instruction{op: bpfAtomic, dst: 2, src: 1})
}

// ifCounts ends the program if another set of links counts.
func (a *assembly) ifCounts(m callMaps) {
	a.add(
		instruction{op: bpfMovReg, dst: 1, src: 7},
		instruction{op: bpfRightImm, dst: 1, imm: callGeneration},
		instruction{op: bpfAndImm, dst: 1, imm: generationMask},
		instruction{op: bpfLoad64, dst: 2, src: unix.BPF_PSEUDO_MAP_VALUE, imm: int32(m.words)}, instruction{imm: 8 * wordGeneration},
		instruction{op: bpfJumpNe, dst: 1, off: 1, imm: windowed},
		instruction{op: bpfAddImm, dst: 2, imm: 8 * (wordWindow - wordGeneration)},
		instruction{op: bpfLoadDW, dst: 2, src: 2})
	a.jump(instruction{op: bpfJumpNeReg, dst: 1, src: 2}, "out")
}

// ifFollowed goes on at a label if a call that is open has begun before the function's calls were followed to their ends. It may have ended since, and
// another one, which was not seen, be at its place on the stack. Register 1 has when it began.
func (a *assembly) ifFollowed(m callMaps, label string) {
	m.family.ifBorn(a, label)
	a.add(instruction{op: bpfLoadW, dst: 3, src: 10, off: callKey})
	a.jump(instruction{op: bpfJumpGE, dst: 3, imm: int32(m.functions)}, "out")
	a.add(
		instruction{op: bpfMulImm, dst: 3, imm: 8 * wordsHits},
		instruction{op: bpfLoad64, dst: 2, src: unix.BPF_PSEUDO_MAP_VALUE, imm: int32(m.words)}, instruction{imm: int32(8 * (m.hits() + wordSince))},
		instruction{op: bpfAddReg, dst: 2, src: 3},
		instruction{op: bpfLoadDW, dst: 2, src: 2})
	a.jump(instruction{op: bpfJumpGEReg, dst: 1, src: 2}, "followed")
	a.jump(instruction{op: bpfJump}, label)
	a.mark("followed")
}

// Exchanges reports whether Survey, Renew and Turn work. Where links have no cookies, two sets cannot be told apart.
func (c *Calls) Exchanges() bool { return c.maps.start.events == nil }

// Hits returns how often threads came to the probes of a function so far.
func (c *Calls) Hits(function int) CallHits {
	at := c.maps.hits() + wordsHits*function
	return CallHits{Emulated: atomic.LoadUint64(c.word(at)), Stepped: atomic.LoadUint64(c.word(at + 1))}
}

// Survey makes probes at entries that count hits and nothing else. The function that it returns begins to lift them, and does not wait.
func (c *Calls) Survey(path string, places []CallPlace) (end func()) {
	links, generation := c.links, c.sets.generation
	c.links, c.sets.generation = nil, surveyed
	c.Attach(path, true, places)
	made := c.links
	c.links, c.sets.generation = links, generation
	return func() { c.sets.close(surveyed, made) }
}

// Window makes probes of a function beside the set. They count until the function that it returns is called, which begins to lift them, and does not
// wait. The probes of the window before are lifted first. It returns false if the kernel refuses them. The kernel takes some milliseconds for a link
// (percpu_down_write in uprobe_register), while threads come to the probes of the other: so those of the ends, which cost more, are made last, and lifted
// first. Counting begins when all are there.
func (c *Calls) Window(path string, function int, ends, entries []CallPlace) (end func(), ok bool) {
	if c.sets.closers[windowed].Wait() != nil {
		return nil, false
	}
	c.Follow(function) // before its ends are seen: a call of the window before may still be open
	links, generation := c.links, c.sets.generation
	c.links, c.sets.generation = nil, windowed
	refused := len(c.Attach(path, true, entries)) + len(c.Attach(path, false, ends))
	made := c.links
	c.links, c.sets.generation = links, generation
	lift := func() {
		c.set(wordWindow, 0)
		c.sets.close(windowed, made)
	}
	if refused > 0 {
		lift()
		return nil, false
	}
	c.set(wordWindow, windowed)
	return lift, true
}

// Follow says that no end of a call of a function was seen for a while: those that have begun before are not taken for open any more.
func (c *Calls) Follow(function int) {
	atomic.StoreUint64(c.word(c.maps.hits()+wordsHits*function+wordSince), uint64(Now()))
}

// Renew begins another set of links: Attach makes its probes, which do not count before Turn.
func (c *Calls) Renew() error {
	next := (c.sets.generation + 1) % generations
	err := c.sets.closers[next].Wait()
	c.sets.old, c.links = c.links, nil
	c.sets.generation = next
	return err
}

// Turn lets the new set count, and lifts the old one. It does not wait for that.
func (c *Calls) Turn() {
	c.set(wordGeneration, c.sets.generation)
	c.sets.close((c.sets.generation+generations-1)%generations, c.sets.old)
	c.sets.old = nil
}

// close closes links, those of entries first, in the background.
func (s *linkSets) close(generation uint64, links []callLink) {
	for i := len(links) - 1; i >= 0; i-- {
		s.closers[generation].Close(links[i])
	}
}

// wait waits until what close was given is closed.
func (s *linkSets) wait() error {
	var errs []error
	for i := range s.closers {
		errs = append(errs, s.closers[i].Wait())
	}
	return errors.Join(errs...)
}

// A callLink is a program at places of a file.
type callLink struct {
	fd    int
	event string // that was defined for it; empty for a uprobe_multi link
	// trapped: fd is the number of a link of this. nil: it is a descriptor.
	trapped *trapped
}

// Close lifts the probes of a link.
func (l callLink) Close() error {
	if l.trapped != nil {
		l.trapped.unlink(l.fd)
		return nil
	}
	return closeProbe(l.fd)
}
