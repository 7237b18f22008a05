package bkpt

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
)

// Memory is the memory of a target, at its own addresses (as int64 two's
// complement). WriteAt must reach read-only text, as /proc/PID/mem does.
type Memory interface {
	io.ReaderAt
	io.WriterAt
}

var errShort = errors.New("short access")

// A Table holds the breakpoints of one address space. It belongs to the control
// goroutine and has no locks.
type Table struct {
	mem     Memory
	ground  Ground // nil: all memory is text
	kinds   []Kind // in use, the default first
	armed   bool
	version uint64 // changes when an int3 is planted or lifted
	index
	lifted map[uint64]lifted
	strays map[place]byte // int3s that have left their address with their text, and the bytes under them
	probed places
	// elsewhere hides, in what was read at addr, the traps of probes of the same file at another place.
	elsewhere func(p []byte, addr uint64)
	// Stays reports whether a probe that was given up is not closed for now, by what Probe.Gone returned. nil: none is.
	Stays func(gone <-chan struct{}) bool

	scratch  Scratch
	observer Observer

	ended []Ended // not taken yet

	work       []*Breakpoint // work space of of
	left       []*Breakpoint // work space of standing
	raw, shown []byte        // work space of window reads
}

// NewTable returns an empty table, not armed, whose traps are int3
// instructions written to mem.
func NewTable(mem Memory) *Table {
	t := &Table{
		mem:    mem,
		kinds:  []Kind{int3{}},
		index:  index{byAddr: make(map[uint64]*Breakpoint)},
		lifted: make(map[uint64]lifted),
		strays: make(map[place]byte),
		probed: make(places),

		observer: unobserved{},
	}
	t.scratch.table = t
	return t
}

// HideElsewhere makes Overlay call hide for text that has traps left, read at addr: the kernel plants the trap of a probe wherever
// the file is mapped. hide replaces those traps by the file's own bytes.
func (t *Table) HideElsewhere(hide func(p []byte, addr uint64)) { t.elsewhere = hide }

// Add adds one owner to the breakpoint at addr, which it makes if there is none.
// On an armed table a new breakpoint is planted at once, while threads may run
// through it. The error says that the address cannot be read, or that no
// instruction starts there. The caller has to know whether the address is in
// executable memory.
func (t *Table) Add(addr uint64) (*Breakpoint, error) { return t.AddTrap(addr, t.kinds[0]) }

// Default returns the kind of trap that Add uses.
func (t *Table) Default() Kind { return t.kinds[0] }

// AddTrap is Add with a kind of trap. A breakpoint that exists keeps its kind. A
// lasting trap is planted at once, whether the table is armed or not.
func (t *Table) AddTrap(addr uint64, k Kind) (*Breakpoint, error) {
	if b := t.byAddr[addr]; b != nil {
		if b.dead {
			if err := t.revive(b); err != nil {
				return nil, err
			}
		}
		b.owners++
		return b, nil
	}
	if !k.Lasting() {
		if err := t.probed.free(addr, t.Stays); err != nil {
			return nil, fmt.Errorf("breakpoint at %#x: %w", addr, err)
		}
	}
	b := &Breakpoint{Addr: addr, owners: 1, trap: k}
	if err := t.prepare(b); err != nil {
		return nil, err
	}
	if t.armed || k.Lasting() {
		if err := t.plantNew(b); err != nil {
			return nil, err
		}
	}
	t.use(k)
	t.insert(b)
	return b, nil
}

// use adds a kind of trap to those in use.
func (t *Table) use(k Kind) {
	if !slices.Contains(t.kinds, k) {
		t.kinds = append(t.kinds, k)
	}
}

// revive makes a dead breakpoint a living one again, if there is text at its
// address.
func (t *Table) revive(b *Breakpoint) error {
	if err := t.prepare(b); err != nil {
		return err
	}
	b.dead = false
	t.forgetEnded(b)
	if t.armed {
		return t.plantNew(b)
	}
	return nil
}

// prepare reads the code that a breakpoint is to be planted in, and finds its
// place.
func (t *Table) prepare(b *Breakpoint) error {
	if err := b.read(t); err != nil {
		return fmt.Errorf("breakpoint: %w", err)
	}
	if b.trap.Lasting() {
		return nil
	}
	return t.stand(b)
}

func (t *Table) plantNew(b *Breakpoint) error {
	if err := b.trap.Plant(t, []*Breakpoint{b}); err != nil {
		return fmt.Errorf("breakpoint: %w", err)
	}
	if b.dead {
		return fmt.Errorf("breakpoint at %#x: %w", b.Addr, ErrDead)
	}
	return nil
}

// ErrDead is the error for a breakpoint whose text went away while it was made.
var ErrDead = errors.New("text is gone")

// Remove removes one owner of b. The last one lifts the trap. The trap is then
// kept with the recently lifted ones: threads may have hit it whose wait statuses
// have not been read yet.
func (t *Table) Remove(b *Breakpoint) error {
	if t.byAddr[b.Addr] != b {
		return nil
	}
	if b.owners--; b.owners > 0 {
		return nil
	}
	err := t.lift(b)
	if !b.dead && !b.trap.Lasting() {
		t.lifted[b.Addr] = lifted{b.Orig(), b.place}
	}
	t.forgetEnded(b)
	t.changed()
	t.remove(b)
	t.scratch.retire(b)
	return err
}

// lift removes the trap of a breakpoint for good.
func (t *Table) lift(b *Breakpoint) (err error) {
	if b.armed {
		err = b.trap.Lift(t, []*Breakpoint{b})
	}
	if err == nil {
		t.observer.Lifted(b.Addr)
	}
	return err
}

// Version changes whenever the result of AppendSetBacks does. No two tables have the same version.
func (t *Table) Version() uint64 { return t.version }

// changed is called when an int3 was planted or lifted.
func (t *Table) changed() { t.version = versions.Add(1) }

var versions atomic.Uint64

// Settle frees the scratch slots of the recently lifted traps. If all is set it also forgets those traps. It may be
// called when, since the lifting, every thread that may run has been seen in a stop and has left its scratch slot
// (Relocate), and when no fork child waits for Clean. all says that every other thread has been seen in a stop as well:
// one that has not may be making a fork child, which would have the traps.
func (t *Table) Settle(all bool) {
	if all {
		clear(t.lifted)
	}
	t.scratch.settle()
}

// Forget drops everything after an exec. The text is gone, so nothing is written
// back. The table stays armed or disarmed. former has what was dropped, for the memory of a process that was forked before
// the exec: Clean and Scratch.Relocate may be called.
func (t *Table) Forget() (former *Table) {
	for _, k := range t.kinds {
		if k.Lasting() {
			// The kernel has taken the traps away, but not the descriptors.
			_ = k.Lift(t, t.of(k, true))
		}
	}
	for _, b := range t.sorted {
		b.armed, b.dead = false, true
	}
	former = NewTable(t.mem)
	former.sorted, former.lifted, former.scratch.areas = t.sorted, t.lifted, t.scratch.areas
	t.changed()
	clear(t.byAddr)
	clear(t.probed)
	clear(t.strays)
	t.lifted = make(map[uint64]lifted)
	t.sorted, t.ended = nil, nil
	t.scratch.forget()
	return former
}

// Armed reports whether the table is armed.
func (t *Table) Armed() bool { return t.armed }

// Arm plants all breakpoints. It must be called while no thread of the address
// space runs user code. If one breakpoint cannot be planted, the others still are.
// Breakpoints whose text is gone become dead, which is no error.
func (t *Table) Arm() error {
	t.armed = true
	var all error
	for _, k := range t.kinds {
		all = errors.Join(all, k.Plant(t, t.of(k, false)))
	}
	return all
}

// Disarm lifts all breakpoints and restores the scratch slots, so that the text
// has the program's own bytes. Lasting traps stay. Disarm must be called while no
// thread of the address space runs, after threads that were in a slot have left
// it (Relocate). A trap that is not in the text any more is not replaced.
func (t *Table) Disarm() error {
	t.armed = false
	all := t.scratch.restore(t.mem)
	for _, k := range t.kinds {
		if !k.Lasting() {
			all = errors.Join(all, k.Lift(t, t.of(k, true)))
		}
	}
	return all
}

// of returns the living breakpoints of one kind that are armed, or not. The
// result is valid until the next call.
func (t *Table) of(k Kind, armed bool) []*Breakpoint {
	t.work = t.appendOf(t.work[:0], k, armed)
	return t.work
}
