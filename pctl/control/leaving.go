package control

import (
	"io"
	"slices"
	"time"

	"ptools/internal/procfs"
)

// The kernel needs tens of milliseconds to close a probe. The control goroutine does not wait for that.
// Until then the trap is in the text where the breakpoint was. It is also wherever the process maps the
// same file meanwhile, for instance after an exec or when a library is loaded again. The trap is hidden
// there, and does nothing.
//
// A process that this program has forked, to execute another program or not, has the probe's descriptor
// until its execve. Until then the probe stays although it was closed, and nothing reports that. So its
// trap is hidden for a while longer.

// lingering is how long a probe may stay after it was closed.
const lingering = 2 * time.Second

// place is where a probe is, in a file.
type place struct {
	major, minor uint32
	inode, off   uint64
	orig         byte // the file's own byte
}

// placed is a probe, a *perfevent.Link or a *tally, and its place. It implements bkpt.Probe.
type placed struct {
	io.Closer
	place
	gone  chan struct{} // closed when the probe is
	batch *batch        // that it is part of, or nil
}

// Gone implements bkpt.Probe.
func (p placed) Gone() <-chan struct{} { return p.gone }

// leaving is a probe that is being closed.
type leaving struct {
	place
	closed <-chan struct{}
	over   time.Duration // when it was first found closed (procfs.Monotonic)
}

func (l leaving) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

// in returns the address of a place in a mapping, and whether it is there.
func (l place) in(m procfs.Map) (addr uint64, ok bool) {
	same := m.Inode == l.inode && m.Major == l.major && m.Minor == l.minor && m.Perm&procfs.Exec != 0
	return m.Start + l.off - m.Off, same && l.off >= m.Off && l.off-m.Off < m.End-m.Start
}

// hideLeaving gives the table the traps of probes that are being closed, wherever they are in the
// present text. It is called before text is read or written. While there are any such probes it reads
// the map of the process.
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

// forgetClosed drops what was closed long ago.
func (p *probes) forgetClosed() {
	p.leaving = staying(p.leaving)
	p.parents = staying(p.parents)
}

// staying returns the probes that may still be in the text, in the same slice.
func staying(list []leaving) []leaving {
	now := procfs.Monotonic()
	for i := range list {
		if l := &list[i]; l.over == 0 && l.isClosed() {
			l.over = now
		}
	}
	return slices.DeleteFunc(list, func(l leaving) bool { return l.over != 0 && now-l.over > lingering })
}
