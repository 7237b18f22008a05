package control

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"ptools/internal/elfsym"
	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/tracee"
	"ptools/pctl/bkpt"
)

// Uprobes are traps that the kernel plants and lifts. A thread that reaches one runs a small
// program of ours in the kernel. That program keeps the thread's registers and sends the thread
// a signal that is ignored by default. While the thread is traced, the signal stops it. When we
// are dead, the thread runs on. Nothing else has to be done to the target, and nothing is left
// in it.

// probes are the uprobes of one address space. Everything but their closing belongs to the
// control goroutine.
type probes struct {
	c       *Controller
	g       *tracee.Group
	signals *perfevent.Signals // nil: not asked for yet, or refused
	refused error
	signal  syscall.Signal // what a thread is stopped by
	stop    *bkpt.Uprobes  // the kind of trap that stops threads, wherever its file is mapped
	count   *bkpt.Uprobes  // the kind that counts at one address
	total   *bkpt.Uprobes  // the kind that counts wherever its file is mapped
	tallies map[uint64]*tally
	ready   map[uint64]part // probes that were made for breakpoints which are about to be set
	batches []*batch        // of these
	hit     perfevent.Hit   // work space
	there   readOnly        // work space
	closer  *perfevent.Closer
	open    atomic.Int32 // probes that are not closed yet
	leaving []leaving    // those that are being closed, or were closed lately
	first   *firstThread // nil: not watched

	watchers sync.WaitGroup

	// A forked process has the traps of its parent's probes in its text, where they do nothing.
	placed  []leaving // those that may be in the text, wanted or not
	parents []leaving // those of the process that this one was forked off
}

// maxProbes bounds the breakpoints of a process that are probes. Each takes a descriptor and,
// when we are killed, tens of milliseconds until the kernel has closed it. There may be three
// times as many probes that are being closed.
const (
	maxProbes  = 64
	mostProbes = 4 * maxProbes
)

var (
	errTooManyProbes = fmt.Errorf("%d uprobes are in use", maxProbes)
	errNotProbeable  = errors.New("the kernel cannot execute this instruction out of its place")
	errNotFile       = errors.New("the text is not that of a file, or can be written")
	errTextChanged   = errors.New("the text differs from its file")
	errNotPlanted    = errors.New("the kernel has not planted it")
	errBlocked       = errors.New("a thread blocks SIGWINCH and SIGURG")
	errFirst         = errors.New("the first process cannot be signalled")
)

func (p *probes) init(c *Controller) {
	p.c, p.g = c, &c.tracees
	p.stop = bkpt.NewUprobes(c.traps.probes.openStop, p.discard)
	p.count = bkpt.NewUprobes(c.traps.probes.openCount, p.discard)
	p.total = bkpt.NewUprobes(c.traps.probes.openTotal, p.discard)
	p.closer = perfevent.NewCloser()
	p.tallies = map[uint64]*tally{}
}

// openProbes prepares uprobes in this address space, or returns why there can be none.
func (p *probes) openProbes() error {
	if p.signals != nil || p.refused != nil {
		return p.refused
	}
	p.signal, p.refused = p.chooseSignal()
	if p.refused != nil {
		err := p.refused
		p.refused = nil // may be another next time
		return err
	}
	p.signals, p.refused = perfevent.NewSignals(p.g.PID, p.signal)
	return p.refused
}

// ofLibraries is the mask of signal 32, which C libraries keep for themselves and let no
// program block. A thread that blocks it blocks all signals, for a moment. glibc and musl do so
// in pthread_create, on both sides, and at the end of a thread. Go's runtime does so too.
const ofLibraries = 1 << (32 - 1)

// chooseSignal returns a signal that is ignored by default and that no thread blocks. If
// possible, the program has no handler for it: after our death, until the kernel has closed the
// probes, a program that has a handler gets some of these signals.
func (p *probes) chooseSignal() (syscall.Signal, error) {
	if p.g.PID == 1 {
		return 0, errFirst // bpf_send_signal_common: not to the first process
	}
	var blocked, caught uint64
	for tid, t := range p.g.Threads {
		if t.Role != tracee.RoleThread {
			continue
		}
		if st, err := procfs.ReadTaskStatus(p.g.PID, tid); err == nil {
			caught = st.SigCgt
			if st.SigBlk&ofLibraries == 0 {
				blocked |= st.SigBlk
			}
		}
	}
	signals := [...]syscall.Signal{syscall.SIGWINCH, syscall.SIGURG}
	for _, avoid := range []uint64{blocked | caught, blocked} {
		for _, s := range signals {
			if avoid&(1<<(s-1)) == 0 {
				return s, nil
			}
		}
	}
	return 0, errBlocked
}

// discard has a probe closed in the background. From now on the probe stops no thread and
// counts none.
func (p *probes) discard(probe bkpt.Probe) <-chan struct{} {
	made := probe.(placed)
	if made.batch != nil {
		return p.part(made)
	}
	switch inner := made.Closer.(type) {
	case *tally:
		made.Closer = inner.freeze()
	case *perfevent.Link:
		inner.Switch(false)
	}
	closed := p.closer.Close(counted{made.Closer, &p.open, made.gone})
	same := func(l leaving) bool { return l.place == made.place && l.isClosed() }
	p.leaving = append(slices.DeleteFunc(p.leaving, same), leaving{place: made.place, closed: closed})
	return closed
}

// counted is a probe that counts as open until it is closed.
type counted struct {
	io.Closer
	open *atomic.Int32
	gone chan struct{}
}

func (c counted) Close() error {
	defer close(c.gone)
	defer c.open.Add(-1)
	return c.Closer.Close()
}

// closeProbes closes what is left when control ends, and waits for that.
func (p *probes) closeProbes() {
	p.c.traps.forgetBreaks()
	p.c.traps.probes.forget()
	p.c.traps.probes.closer.Wait() // closing fails for no descriptor of ours
	p.c.traps.probes.watchers.Wait()
}

// demandProbes is openProbes for a client that wants nothing but uprobes.
func (p *probes) demandProbes() error {
	if p.c.opt.Trap != TrapUprobe {
		return nil
	}
	if err := p.openProbes(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoUprobe, err)
	}
	return nil
}

// lasting returns the number of breakpoints that are probes.
func (p *probes) lasting() int { return p.stop.Len() + p.count.Len() + p.total.Len() }

// inUse returns the number of probes that are breakpoints, without those of batches.
func (p *probes) inUse() (n int) {
	for _, u := range p.kinds() {
		u.Each(func(probe bkpt.Probe) {
			if probe.(placed).batch == nil {
				n++
			}
		})
	}
	return n
}

// forget drops what belongs to an address space. Its probes have been handed over for closing:
// none of them stops a thread from now on.
func (p *probes) forget() {
	if p.signals != nil {
		p.signals.Switch(false)
		p.signals.Close()
	}
	p.unwatchFirst()
	p.c.traps.mappings.forget()
	p.signals, p.refused, p.parents = nil, nil, nil
	clear(p.tallies)
}

// inherit notes the traps that are in the text because a parent has probes there.
func (p *probes) inherit(from *probes) {
	p.parents = staying(slices.Concat(from.placed, from.parents))
}

// inherited reports whether [addr, addr+n) may have the trap of a parent's probe.
func (p *probes) inherited(addr uint64, n int) bool {
	if len(p.parents) == 0 {
		return false
	}
	maps, err := procfs.Maps(p.g.PID)
	if err != nil {
		return false
	}
	for _, m := range maps {
		for _, l := range p.parents {
			if at, ok := l.in(m); ok && at-addr < uint64(n) && !l.isClosed() {
				return true
			}
		}
	}
	return false
}

// otherPath returns ErrOtherPath if a probe of ours is at the same offset of a file that has the same byte there as the file that
// is mapped at addr.
func otherPath(p *probes, addr uint64) error {
	f, at, err := p.textFile(addr)
	if err != nil {
		return nil
	}
	defer f.Close()
	var file [1]byte
	if _, err := elfsym.NewPatient(f).ReadAt(file[:], int64(at.off)); err != nil {
		return nil
	}
	for _, u := range p.kinds() {
		if u.Find(func(probe bkpt.Probe) bool {
			l := probe.(placed).place
			return l.off == at.off && l.orig == file[0]
		}) != nil {
			return ErrOtherPath
		}
	}
	return nil
}

// foreignTrap reports whether addr has a trap that is neither ours nor in the file that is
// mapped there. It is a uprobe of another tracer, or an int3 that another tracer has left. The
// kernel takes an int3 at a uprobe for its own. And lifting a trap writes back the byte that
// was found, which must not be another tracer's trap.
func (p *probes) foreignTrap(addr uint64) bool {
	var text, file [1]byte
	if _, err := p.c.traps.readAt(text[:], int64(addr)); err != nil || !bkpt.HasTrap(text[:]) {
		return false
	}
	f, at, err := p.textFile(addr)
	if err != nil {
		return false // text that was made at run time: the program's own trap
	}
	defer f.Close()
	_, err = elfsym.NewPatient(f).ReadAt(file[:], int64(at.off))
	return err == nil && file != text
}
