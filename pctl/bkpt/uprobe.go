package bkpt

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// A Probe is the kernel's probe of one instruction on one thread.
type Probe interface {
	io.Closer
	// Count returns how often the thread has reached the instruction.
	Count() (uint64, error)
}

// Uprobes is the second kind of trap: kernel probes, one for each breakpoint and
// thread, that signal the thread or only count. The kernel steps the
// instruction, and lifts the probes when we are killed. All methods belong to
// the control goroutine.
//
// A probe's signal carries the breakpoint's address in si_perf_data.
type Uprobes struct {
	open    func(addr uint64, tid int) (Probe, error)
	discard func(io.Closer)
	threads map[int]bool
	probes  map[uint64]map[int]Probe // by address and thread
	past    map[uint64]uint64        // counts of probes given away, of every address ever planted
	n       int
}

// NewUprobes returns a kind of trap without threads. open makes the probe of the
// instruction at an address for a thread; discard takes over a probe that is no
// longer wanted, and must not wait for it to be closed.
func NewUprobes(open func(addr uint64, tid int) (Probe, error), discard func(io.Closer)) *Uprobes {
	return &Uprobes{
		open: open, discard: discard,
		threads: make(map[int]bool),
		probes:  make(map[uint64]map[int]Probe),
		past:    make(map[uint64]uint64),
	}
}

// Lasting: the kernel keeps the probes.
func (u *Uprobes) Lasting() bool { return true }

// Recognise: the signal says which breakpoint it is of. A probe that was given
// away signals until it is closed, long after the table has settled, so every
// address that ever had one is ours for good.
func (u *Uprobes) Recognise(s Stop) (addr uint64, ok bool) {
	if s.Code != trapPerf {
		return 0, false
	}
	_, ok = u.past[s.Data]
	return s.Data, ok
}

// Len returns the number of probes, each of which is a descriptor.
func (u *Uprobes) Len() int { return u.n }

// Plant opens the probes of every thread. A breakpoint that some thread cannot
// have is not planted at all.
func (u *Uprobes) Plant(t *Table, bs []*Breakpoint) error {
	var errs []error
	for _, b := range bs {
		u.probes[b.Addr] = make(map[int]Probe, len(u.threads))
		u.past[b.Addr] += 0
		b.armed = true
		for tid := range u.threads {
			if err := u.probe(b.Addr, tid); err != nil {
				errs = append(errs, err)
				b.armed = false
				break
			}
		}
		if !b.armed {
			u.drop(b.Addr)
		}
	}
	return errors.Join(errs...)
}

// Lift gives the probes of the breakpoints away.
func (u *Uprobes) Lift(t *Table, bs []*Breakpoint) error {
	for _, b := range bs {
		u.drop(b.Addr)
		b.armed = false
	}
	return nil
}

func (u *Uprobes) drop(addr uint64) {
	for _, p := range u.probes[addr] {
		u.close(addr, p)
	}
	delete(u.probes, addr)
}

// Start covers a thread: those that exist before the first breakpoint, and every
// new one before it runs. The error says which breakpoints it will run through
// unseen, and why.
func (u *Uprobes) Start(tid int) error {
	if u.threads[tid] {
		return nil
	}
	u.threads[tid] = true
	var errs []error
	for _, addr := range slices.Sorted(maps.Keys(u.probes)) {
		errs = append(errs, u.probe(addr, tid))
	}
	return errors.Join(errs...)
}

// Exit gives away the probes of a thread that has ended.
func (u *Uprobes) Exit(tid int) {
	delete(u.threads, tid)
	for addr, byThread := range u.probes {
		if p, ok := byThread[tid]; ok {
			delete(byThread, tid)
			u.close(addr, p)
		}
	}
}

// Count returns how often all threads together have reached the instruction at
// addr since the breakpoint was first planted. The error is that of a probe
// that could not be read; the sum is then of the others.
func (u *Uprobes) Count(addr uint64) (uint64, error) {
	n := u.past[addr]
	var errs []error
	for _, p := range u.probes[addr] {
		c, err := p.Count()
		n += c
		errs = append(errs, err)
	}
	return n, errors.Join(errs...)
}

func (u *Uprobes) probe(addr uint64, tid int) error {
	p, err := u.open(addr, tid)
	if err != nil {
		return fmt.Errorf("probe at %#x for thread %d: %w", addr, tid, err)
	}
	u.probes[addr][tid] = p
	u.n++
	return nil
}

// close keeps a probe's count and gives it away.
func (u *Uprobes) close(addr uint64, p Probe) {
	if c, err := p.Count(); err == nil {
		u.past[addr] += c
	}
	u.n--
	u.discard(p)
}
