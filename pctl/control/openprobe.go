package control

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"syscall"

	"ptools/internal/elfsym"
	"ptools/internal/patience"
	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/pctl/bkpt"
)

// kinds returns the kinds of trap that are probes.
func (p *probes) kinds() [3]*bkpt.Uprobes { return [...]*bkpt.Uprobes{p.stop, p.count, p.total} }

// counts reports whether a breakpoint is one that counts.
func (p *probes) counts(b *bkpt.Breakpoint) bool { return p.count.Has(b) || p.total.Has(b) }

// openStop returns the probe of a breakpoint that stops threads.
func (p *probes) openStop(b *bkpt.Breakpoint) (bkpt.Probe, error) {
	return p.openAt(b, p.stop, func(path string, off uint64) (io.Closer, error) {
		return p.signals.Probe(path, off, 0)
	})
}

// openCount returns the probe of a breakpoint that counts at its address.
func (p *probes) openCount(b *bkpt.Breakpoint) (bkpt.Probe, error) {
	return p.openAt(b, nil, p.counter(b.Addr))
}

// openTotal returns the probe of a breakpoint that counts wherever its text is mapped.
func (p *probes) openTotal(b *bkpt.Breakpoint) (bkpt.Probe, error) {
	return p.openAt(b, p.total, p.counter(0))
}

// counter returns a function that makes a counter at addr, or everywhere.
func (p *probes) counter(addr uint64) func(path string, off uint64) (io.Closer, error) {
	return func(path string, off uint64) (io.Closer, error) {
		counter, err := perfevent.OpenCounter(p.g.PID, p.g.PID, path, off, addr)
		if err != nil {
			return nil, err
		}
		return &tally{counter: counter}, nil
	}
}

// openAt finds the file that the text of a breakpoint is mapped from, and has open make the
// probe, unless a breakpoint of the kind shared has one at that place of the file. Then it checks that the kernel has planted
// the probe. In mappings and processes of some kinds the kernel plants none, without an error.
func (p *probes) openAt(b *bkpt.Breakpoint, shared *bkpt.Uprobes, open func(path string, off uint64) (io.Closer, error)) (bkpt.Probe, error) {
	if !b.Plan().Probeable() {
		return nil, errNotProbeable
	}
	if made, ok := p.take(b); ok {
		return p.planted(b, made, true)
	}
	f, at, err := p.textFile(b.Addr)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := p.sameText(b, f, at.off); err != nil {
		return nil, err
	}
	at.orig = b.Orig()
	var probe bkpt.Probe
	if shared != nil {
		probe = shared.Find(func(other bkpt.Probe) bool { return other.(placed).place == at })
	}
	isNew := probe == nil
	if isNew {
		if probe, err = p.make(f, at, open); err != nil {
			return nil, err
		}
	}
	return p.planted(b, probe, isNew)
}

// planted checks that the kernel has planted the probe of a breakpoint. One that is new is discarded otherwise.
func (p *probes) planted(b *bkpt.Breakpoint, probe bkpt.Probe, isNew bool) (bkpt.Probe, error) {
	var err error
	if p.c.image.executing() {
		// The file may be that of another program, and addr the middle of one of its instructions. It executes none before
		// its exec has been handled (TestBreakBeforeExecReport).
		err = syscall.ESRCH
	} else {
		var now [1]byte
		if _, e := p.g.Memory.Mem.ReadAt(now[:], int64(b.Addr)); e != nil || now[0] == b.Orig() {
			err = errNotPlanted
		}
	}
	if err != nil {
		if isNew {
			closed := p.discard(probe)
			if err == syscall.ESRCH && probe.(placed).batch == nil {
				<-closed
			}
		}
		return nil, err
	}
	if t, ok := probe.(placed).Closer.(*tally); ok {
		p.tallies[b.Addr] = t
	}
	return probe, nil
}

// make has open make a probe in a file.
func (p *probes) make(f *os.File, at place, open func(path string, off uint64) (io.Closer, error)) (bkpt.Probe, error) {
	if p.inUse() >= maxProbes || p.open.Load() >= mostProbes {
		return nil, errTooManyProbes
	}
	if err := p.watchFirst(); err != nil {
		return nil, err
	}
	made, err := open("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), at.off)
	if err != nil {
		return nil, err
	}
	p.open.Add(1)
	probe := placed{Closer: made, place: at, gone: make(chan struct{})}
	p.placed = append(staying(p.placed), leaving{place: at, closed: probe.gone})
	return probe, nil
}

// textFile opens the file that is mapped at addr, and returns the place of addr in it. The file
// may have been deleted, or be in another mount namespace.
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

// sameText returns an error unless the target's text is what the file has there: the kernel
// executes what the file has.
func (p *probes) sameText(b *bkpt.Breakpoint, f *os.File, off uint64) error {
	n := b.Plan().Len()
	text, file := make([]byte, n), make([]byte, n)
	if _, err := p.c.traps.readAt(text, int64(b.Addr)); err != nil {
		return err
	}
	// If the file system hangs, this read can be given up. The kernel's own read of the page
	// could not be.
	if _, err := elfsym.NewPatient(f).ReadAt(file, int64(off)); err != nil {
		return err
	}
	if !bytes.Equal(text, file) {
		return errTextChanged
	}
	return nil
}
