package control

import (
	"io"
	"slices"

	"ptools/internal/procfs"
)

// The kernel needs tens of milliseconds to close a probe, and the control goroutine does
// not wait for that. Until then the trap stands in the text: where the breakpoint was,
// and wherever the process maps the same file meanwhile, after an exec for instance or
// when a library is loaded again. It is hidden there, and does nothing.

// place is where a probe is, in a file.
type place struct {
	major, minor uint32
	inode, off   uint64
	orig         byte // the file's own
}

// placed is a probe, a *perfevent.Link or a *tally, and its place.
type placed struct {
	io.Closer
	place
	gone chan struct{} // closed when it is closed
}

// leaving is a probe that is being closed.
type leaving struct {
	place
	closed <-chan struct{}
}

func (l leaving) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

// in returns the address of a place in a mapping, if it is there.
func (l place) in(m procfs.Map) (addr uint64, ok bool) {
	same := m.Inode == l.inode && m.Major == l.major && m.Minor == l.minor && m.Perm&procfs.Exec != 0
	return m.Start + l.off - m.Off, same && l.off >= m.Off && l.off-m.Off < m.End-m.Start
}

// hideLeaving has the table know the traps of probes that are being closed, wherever
// they are in the text of now: before text is read or written. While there are any it
// reads the map of the process.
func (x *traps) hideLeaving() {
	p := &x.probes
	p.forgetClosed()
	if len(p.leaving)+len(p.parents) == 0 {
		return
	}
	maps, err := procfs.Maps(x.g.PID)
	if err != nil {
		return // it has ended
	}
	for _, m := range maps {
		for _, l := range slices.Concat(p.leaving, p.parents) {
			if addr, ok := l.in(m); ok {
				x.table.Hide(addr, l.orig, l.closed)
			}
		}
	}
}

// forgetClosed drops what is closed.
func (p *probes) forgetClosed() {
	p.leaving = slices.DeleteFunc(p.leaving, leaving.isClosed)
	p.parents = slices.DeleteFunc(p.parents, leaving.isClosed)
}
