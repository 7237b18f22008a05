package control

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"syscall"

	"ptools/internal/elfsym"
	"ptools/internal/machine"
	"ptools/internal/perfevent"
	"ptools/pctl/bkpt"
)

// A breakpoint by pattern may be at a thousand places. Their uprobes are one link of the kernel (uprobe_multi, Linux 6.6): it is made at
// once, takes one descriptor, and is closed in one grace period. So it is made for all places of a mapping before the breakpoints are set one
// by one, and each breakpoint takes its part of it. Where there are no such links each has a probe of its own, up to maxProbes.

// batch is one link. Each place of it is a Probe with the same Gone.
type batch struct {
	link   io.Closer // *perfevent.Link or *perfevent.Counters
	gone   chan struct{}
	wanted int // places that were not given up
}

// part is the probe of a batch that waits for its breakpoint.
type part struct {
	kind  *bkpt.Uprobes
	probe placed
}

// leastBatch is how many places are worth a batch.
const leastBatch = 4

// prepare makes the probes of breakpoints that are about to be set, as far as they can be made at once. finish gives up those that were
// not taken. Must be called on the control goroutine.
func (x *traps) prepare(addrs []uint64, why purpose) (finish func()) {
	p := &x.probes
	if len(addrs) < leastBatch || !perfevent.Links() || !x.probesSuit(why) || x.g.Phase().Over() || x.c.image.program.Is32Bit() {
		return func() {}
	}
	of := x.c.image.program
	if toProbes(x, of); of != x.c.image.program || x.g.Phase().Over() {
		return func() {} // its addresses are those of another program
	}
	if err := p.openProbes(); err != nil && !why.counts() {
		return func() {}
	}
	x.hideLeaving()
	there := map[place]bool{}
	for _, u := range p.kinds() {
		u.Each(func(probe bkpt.Probe) { there[probe.(placed).place] = true })
	}
	p.ready = map[uint64]part{}
	for rest := slices.Sorted(slices.Values(addrs)); len(rest) > 0; {
		m, ok, err := x.ground.at(rest[0])
		n := 1
		for n < len(rest) && ok && err == nil && rest[n] < m.End {
			n++
		}
		if n >= leastBatch {
			p.prepareIn(rest[:n], why, there)
		}
		rest = rest[n:]
	}
	return func() {
		for _, r := range p.ready {
			p.discard(r.probe)
		}
		p.ready = nil
		for _, b := range p.batches {
			if b.wanted == 0 && p.c.image.executing() {
				<-b.gone // before the new program runs: what is at the address there may not be an instruction
			}
		}
		p.batches = nil
	}
}

// prepareIn is prepare for ascending addresses of one mapping. Places that are there already are left out.
func (p *probes) prepareIn(addrs []uint64, why purpose, there map[place]bool) {
	f, first, err := p.textFile(addrs[0])
	if err != nil {
		return
	}
	defer f.Close()
	text := blockReader{of: elfsym.NewPatient(f)}
	var places []place
	var at []uint64
	for _, addr := range addrs {
		l := first
		l.off += addr - addrs[0]
		if there[l] || p.c.traps.table.At(addr) != nil || p.c.traps.restartable(addr) {
			continue
		}
		var mem, file [16]byte // more than the longest instruction
		n, _ := p.c.traps.readAt(mem[:], int64(addr))
		plan, err := machine.MakePlan(mem[:n], addr)
		if err != nil || !plan.Probeable() || text.read(file[:plan.Len()], l.off) != nil || string(file[:plan.Len()]) != string(mem[:plan.Len()]) {
			continue
		}
		l.orig, there[l] = mem[0], true
		places, at = append(places, l), append(at, addr)
	}
	if p.watchFirst() == nil {
		p.plant("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), places, at, why)
	}
}

// plant makes a batch, or several if the kernel refuses one for an instruction.
func (p *probes) plant(path string, places []place, addrs []uint64, why purpose) {
	if len(places) < leastBatch || p.open.Load() >= mostProbes {
		return
	}
	offs := make([]uint64, len(places))
	for i := range places {
		offs[i] = places[i].off
	}
	b := &batch{gone: make(chan struct{}), wanted: len(places)}
	var each func(i int) io.Closer
	var err error
	if why.counts() {
		var counters *perfevent.Counters
		if counters, err = perfevent.OpenCounters(p.g.PID, path, offs); err == nil {
			b.link, each = counters, func(i int) io.Closer { return &tally{counter: counters.At(i)} }
		}
	} else {
		var link *perfevent.Link
		if link, err = p.signals.ProbeAll(path, offs); err == nil {
			b.link, each = link, func(int) io.Closer { return link }
		}
	}
	if err != nil {
		if half := len(places) / 2; perfevent.OfInstruction(err) {
			p.plant(path, places[:half], addrs[:half], why)
			p.plant(path, places[half:], addrs[half:], why)
		}
		return
	}
	p.open.Add(1)
	p.batches = append(p.batches, b)
	p.placed = staying(p.placed)
	for i, at := range places {
		p.placed = append(p.placed, leaving{place: at, closed: b.gone})
		p.c.traps.table.Hide(addrs[i], at.orig, b.gone)
		p.ready[addrs[i]] = part{p.kindOf(why), placed{Closer: each(i), place: at, gone: b.gone, batch: b}}
	}
}

// take returns the prepared probe of a breakpoint, if there is one of its kind.
func (p *probes) take(b *bkpt.Breakpoint) (probe placed, ok bool) {
	r, ok := p.ready[b.Addr]
	if !ok || !r.kind.Opens(b) {
		return placed{}, false
	}
	delete(p.ready, b.Addr)
	return r.probe, true
}

// part gives up a place of a batch. The last one has it closed.
func (p *probes) part(made placed) <-chan struct{} {
	b := made.batch
	if t, ok := made.Closer.(*tally); ok {
		t.freeze()
	}
	if b.wanted--; b.wanted == 0 {
		if l, ok := b.link.(*perfevent.Link); ok {
			l.Switch(false)
		}
		p.closer.Close(counted{b.link, &p.open, b.gone})
	}
	p.leaving = append(p.leaving, leaving{place: made.place, closed: b.gone})
	return b.gone
}

// stays reports whether a probe that was given up is not closed for now, because others of its batch are wanted.
func (x *traps) stays(gone <-chan struct{}) (stays bool) {
	for _, u := range x.probes.kinds() {
		u.Each(func(probe bkpt.Probe) { stays = stays || probe.Gone() == gone })
	}
	return stays
}

// blockReader reads a file in ascending order, some of it at a time.
type blockReader struct {
	of    io.ReaderAt
	off   uint64
	block []byte
}

const blockSize = 64 << 10

func (r *blockReader) read(p []byte, off uint64) error {
	if off < r.off || off+uint64(len(p)) > r.off+uint64(len(r.block)) {
		block := make([]byte, blockSize)
		n, err := r.of.ReadAt(block, int64(off))
		if r.off, r.block = off, block[:n]; n < len(p) {
			return cmp.Or(err, error(syscall.EIO))
		}
	}
	copy(p, r.block[off-r.off:])
	return nil
}
