package control

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"

	"ptools/internal/elfsym"
	"ptools/internal/patience"
	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/tracee"
	"ptools/pctl/bkpt"
)

// Uprobes are traps that the kernel plants and lifts. A thread that reaches one runs a
// small program of ours in the kernel, which keeps the thread's registers and sends it
// a signal that is ignored by default: traced, it stops; when we are dead, it runs on.
// Nothing else has to be done to the target, and nothing is left in it.

// probes are the uprobes of one address space. All but their closing is the control
// goroutine's.
type probes struct {
	c       *Controller
	g       *tracee.Group
	signals *perfevent.Signals // nil: not asked for yet, or refused
	refused error
	signal  syscall.Signal // what a thread is stopped by
	stop    *bkpt.Uprobes  // the kind of trap that stops threads
	count   *bkpt.Uprobes  // the kind that counts
	tallies map[uint64]*tally
	hit     perfevent.Hit // work space
	there   readOnly      // work space
	closer  *perfevent.Closer
	open    atomic.Int32 // probes that are not closed yet
	leaving []leaving    // some of which were closed lately

	// A process that was forked off has the traps of its parent's probes in its text, where they do nothing.
	placed  []leaving // those that may be in the text, wanted or not
	parents []leaving // those of the process that this one was forked off
}

// maxProbes bounds the breakpoints of a process that are probes. Each is a descriptor
// and, when we are killed, tens of milliseconds until the kernel has closed it. Of
// those that are being closed there may be three times as many.
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
	p.closer = perfevent.NewCloser()
	p.tallies = map[uint64]*tally{}
}

// openProbes makes ready for uprobes in this address space, or says why there can be
// none.
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
	if errors.Is(p.refused, os.ErrPermission) {
		p.refused = fmt.Errorf("%w: needs CAP_BPF and CAP_PERFMON (be root)", p.refused)
	}
	return p.refused
}

// ofLibraries is signal 32, which C libraries keep for themselves and let no program
// block. Where it is blocked everything is, for a moment: by glibc and musl in
// pthread_create, on both sides, and at the end of a thread, and by Go's runtime.
const ofLibraries = 1 << (32 - 1)

// chooseSignal returns a signal that is ignored by default, that no thread blocks and,
// if possible, that the program has no handler for: after our death, until the kernel
// has closed the probes, one that has a handler gets some.
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

// openStop makes the probe of a breakpoint that stops threads.
func (p *probes) openStop(b *bkpt.Breakpoint) (io.Closer, error) {
	return p.openAt(b, func(path string, off uint64) (io.Closer, error) {
		return p.c.traps.probes.signals.Probe(path, off, b.Addr)
	})
}

// openCount makes the probe of one that counts.
func (p *probes) openCount(b *bkpt.Breakpoint) (io.Closer, error) {
	return p.openAt(b, func(path string, off uint64) (io.Closer, error) {
		counter, err := perfevent.OpenCounter(p.g.PID, path, off, b.Addr)
		if err != nil {
			return nil, err
		}
		t := &tally{counter: counter}
		p.c.traps.probes.tallies[b.Addr] = t
		return t, nil
	})
}

// openAt finds the file that the text of a breakpoint is mapped from, has the probe
// made, and looks whether the kernel has planted it: without an error it does not
// where the mapping or the process is of a kind that it passes over.
func (p *probes) openAt(b *bkpt.Breakpoint, open func(path string, off uint64) (io.Closer, error)) (io.Closer, error) {
	if p.inUse() >= maxProbes || p.open.Load() >= mostProbes {
		return nil, errTooManyProbes
	}
	if !b.Plan().Probeable() {
		return nil, errNotProbeable
	}
	f, at, err := p.textFile(b.Addr)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := p.sameText(b, f, at.off); err != nil {
		return nil, err
	}
	made, err := open("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), at.off)
	if err != nil {
		return nil, err
	}
	p.open.Add(1)
	at.orig = b.Orig()
	probe := placed{made, at, make(chan struct{})}
	p.placed = append(staying(p.placed), leaving{place: at, closed: probe.gone})
	if p.c.image.executing() {
		// The file may be that of another program, and addr the middle of one of its instructions. It executes none before
		// its exec has been handled (TestBreakBeforeExecReport).
		<-p.discard(probe)
		return nil, syscall.ESRCH
	}
	var now [1]byte
	if _, err := p.g.Memory.Mem.ReadAt(now[:], int64(b.Addr)); err != nil || now[0] == b.Orig() {
		p.discard(probe)
		return nil, errNotPlanted
	}
	return probe, nil
}

// textFile opens the file that is mapped at addr, also if it was deleted or is in
// another mount namespace, and returns the place of addr in it.
func (p *probes) textFile(addr uint64) (*os.File, place, error) {
	maps, err := procfs.Maps(p.g.PID)
	if err != nil {
		return nil, place{}, err
	}
	for _, m := range maps {
		if addr < m.Start || m.End <= addr {
			continue
		}
		// What the kernel takes (valid_vma in kernel/events/uprobes.c).
		if m.Inode == 0 || m.Perm&(procfs.Exec|procfs.Write|procfs.Shared) != procfs.Exec {
			break
		}
		f, err := patience.Do(func() (*os.File, error) {
			root, err := procfs.OpenRoot(p.g.PID)
			if err != nil {
				return nil, err
			}
			defer root.Close()
			return root.OpenMapped(m)
		}, func(f *os.File) { f.Close() })
		return f, place{major: m.Major, minor: m.Minor, inode: m.Inode, off: addr - m.Start + m.Off}, err
	}
	return nil, place{}, errNotFile
}

// sameText makes sure that what the target executes is what the file has: the kernel
// executes what the file has.
func (p *probes) sameText(b *bkpt.Breakpoint, f *os.File, off uint64) error {
	n := b.Plan().Len()
	text, file := make([]byte, n), make([]byte, n)
	if _, err := p.c.traps.readAt(text, int64(b.Addr)); err != nil {
		return err
	}
	// The kernel reads the same page, and could not be left behind.
	if _, err := elfsym.NewPatient(f).ReadAt(file, int64(off)); err != nil {
		return err
	}
	if !bytes.Equal(text, file) {
		return errTextChanged
	}
	return nil
}

// discard has a probe closed in the background. It stops no thread, and counts none, any more.
func (p *probes) discard(probe io.Closer) <-chan struct{} {
	made := probe.(placed)
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

// counted takes a probe off the books when it is closed.
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
}

// demandProbes is openProbes where the client wants nothing else.
func (p *probes) demandProbes() error {
	if p.c.opt.Trap != TrapUprobe {
		return nil
	}
	if err := p.openProbes(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoUprobe, err)
	}
	return nil
}

// inUse returns the number of probes that are breakpoints.
func (p *probes) inUse() int { return p.stop.Len() + p.count.Len() }

// forget drops what belongs to an address space, whose probes have been given away:
// none of them stops a thread from now on.
func (p *probes) forget() {
	if p.signals != nil {
		p.signals.Switch(false)
		p.signals.Close()
	}
	p.signals, p.refused, p.parents = nil, nil, nil
	clear(p.tallies)
}

// inherit takes notice of the traps that stand in the text because a parent has probes there.
func (p *probes) inherit(from *probes) {
	p.parents = staying(slices.Concat(from.placed, from.parents))
}

// inherited reports whether the trap of a parent's probe may stand in [addr, addr+n).
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

// foreignTrap reports whether a trap stands at addr that is neither ours nor in the file
// that is mapped there: a uprobe of another tracer, or the int3 that one has left. The kernel
// takes an int3 at a uprobe for its own; and what lifts a trap writes what it has found, which
// must not be another's.
func (p *probes) foreignTrap(addr uint64) bool {
	var text, file [1]byte
	if _, err := p.c.traps.readAt(text[:], int64(addr)); err != nil || !bkpt.HasTrap(text[:]) {
		return false
	}
	f, at, err := p.textFile(addr)
	if err != nil {
		return false // made at run time: the program's own
	}
	defer f.Close()
	_, err = elfsym.NewPatient(f).ReadAt(file[:], int64(at.off))
	return err == nil && file != text
}
