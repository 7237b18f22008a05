package bkpt

import (
	"cmp"
	"errors"
	"fmt"
)

// windowSize bounds how much one read and one write cover: a page, because
// another mapping may begin behind it.
const windowSize = 4096

// run returns how many of bs, in ascending order, are within one page and have no trap of
// the kernel between them. The bytes of a run are written as they were read a moment ago,
// and the kernel may lift a trap in that moment.
func (ps places) run(bs []*Breakpoint) int {
	n := 1
	for n < len(bs) && bs[n].Addr/windowSize == bs[0].Addr/windowSize && (len(ps) == 0 || !ps.between(bs[n-1].Addr, bs[n].Addr)) {
		n++
	}
	return n
}

// eachRun reads the text of each run of bs from mem, and calls do with it. A run that cannot be read as a
// whole is read breakpoint by breakpoint. gone is called for breakpoints that cannot be read.
func (t *Table) eachRun(mem Memory, bs []*Breakpoint, do func(t *Table, run []*Breakpoint, raw []byte) error, gone func(*Table, *Breakpoint)) error {
	var errs []error
	for len(bs) > 0 {
		run := bs[:t.probed.run(bs)]
		bs = bs[len(run):]
		if raw, err := t.readRun(mem, run); err == nil {
			errs = append(errs, do(t, run, raw))
			continue
		}
		for i := range run {
			if raw, err := t.readRun(mem, run[i:i+1]); err != nil {
				gone(t, run[i])
			} else {
				errs = append(errs, do(t, run[i:i+1], raw))
			}
		}
	}
	return errors.Join(errs...)
}

// readRun reads the bytes from the first breakpoint of a run to the end of the
// last one's instruction. The result is valid until the next call.
func (t *Table) readRun(mem Memory, run []*Breakpoint) ([]byte, error) {
	last := run[len(run)-1]
	n := last.Addr - run[0].Addr + uint64(last.size())
	if uint64(cap(t.raw)) < n {
		t.raw = make([]byte, n, windowSize+2*codeSize)
	}
	t.raw = t.raw[:n]
	if err := readFull(mem, t.raw, run[0].Addr); err != nil {
		return nil, err
	}
	return t.raw, nil
}

// writeRun writes raw back from the first to the last breakpoint of a run. The
// bytes between them are written as they were read a moment ago. If one of them
// may be a trap of another tracer, a uprobe, only the breakpoints are written: the
// trap may be lifted in that moment.
func writeRun(mem Memory, run []*Breakpoint, raw []byte) error {
	start := run[0].Addr
	if !strayTrap(run, raw) {
		return writeFull(mem, raw[:run[len(run)-1].Addr-start+1], start)
	}
	var errs []error
	for _, b := range run {
		i := b.Addr - start
		errs = append(errs, writeFull(mem, raw[i:i+1], b.Addr))
	}
	return errors.Join(errs...)
}

// strayTrap reports whether there is a trap between the breakpoints of a run.
func strayTrap(run []*Breakpoint, raw []byte) bool {
	for i, b := range run[1:] {
		lo, hi := run[i].Addr-run[0].Addr+1, b.Addr-run[0].Addr
		if HasTrap(raw[lo:hi]) {
			return true
		}
	}
	return false
}

// readFull reads all of p, or fails.
func readFull(mem Memory, p []byte, addr uint64) error {
	n, err := mem.ReadAt(p, int64(addr))
	return whole("read", n, p, addr, err)
}

// writeFull writes all of p, or fails.
func writeFull(mem Memory, p []byte, addr uint64) error {
	n, err := mem.WriteAt(p, int64(addr))
	return whole("write", n, p, addr, err)
}

func whole(what string, n int, p []byte, addr uint64, err error) error {
	if n == len(p) {
		return nil
	}
	return fmt.Errorf("%s of %d bytes at %#x: %w", what, len(p), addr, cause(err))
}

func cause(err error) error { return cmp.Or(err, errShort) }
