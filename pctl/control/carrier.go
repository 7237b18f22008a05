package control

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/bkpt"
)

// Before Linux 6.6 a probe is opened for one thread, the carrier. When that thread has ended, the other threads run over the trap
// without a hit, and the kernel takes the trap out (uprobe_perf_filter). So the carrier is stopped before it gives up
// its memory (PTRACE_EVENT_EXIT). All other threads are stopped too, and each probe is replaced by one for another thread.

var errNoCarrier = errors.New("no thread of the process could be stopped")

// carrierTID returns the thread that probes are opened for.
func (p *probes) carrierTID() int { return cmp.Or(p.carrier, p.g.PID) }

// carry sees to it that there is a carrier. It may stop all threads for a moment. Probes are opened after that.
func (p *probes) carry() error {
	if p.carrier != 0 || !perfevent.EndWithThread() {
		return nil
	}
	p.g.Stopper.StopAtOnce()
	if !p.g.Phase().Over() {
		p.chooseCarrier(nil)
	}
	p.g.Stopper.ResumeAll()
	switch {
	case p.g.Phase().Over():
		return ErrEnded
	case p.carrier == 0:
		return errNoCarrier
	}
	return nil
}

// chooseCarrier takes the first thread, or else the oldest one, other than the one that leaves. All threads are stopped.
func (p *probes) chooseCarrier(leaves *tracee.Thread) {
	p.carrier = 0
	var all []*tracee.Thread
	for _, t := range p.g.Threads {
		if t.Role == tracee.RoleThread && t.M.State() == tracee.StateStopped && t != leaves {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *tracee.Thread) int { return cmp.Compare(a.TID, b.TID) })
	first := func(t *tracee.Thread) bool { return t.TID == p.g.PID }
	if i := slices.IndexFunc(all, first); i > 0 {
		all[0], all[i] = all[i], all[0]
	}
	for _, t := range all {
		st, err := procfs.ReadTaskStat(p.g.PID, t.TID)
		if err == nil && !st.Ending() && p.g.Seizer.WatchEnd(t) == nil {
			p.carrier = t.TID
			return
		}
	}
}

// carrierLeaves is called for a thread that is stopped and about to end. If probes depend on it they are replaced.
func (p *probes) carrierLeaves(t *tracee.Thread) {
	if t.TID != p.carrier || p.g.Phase().Detaches() {
		return
	}
	// A signal that ends a thread ends all of them.
	if status, err := ptrace.EventMsg(t.TID); err != nil || status&0x7f != 0 {
		return
	}
	image := p.c.image.program
	p.g.Stopper.StopAtOnce()
	if !p.g.Phase().Over() && image == p.c.image.program && p.carrier == t.TID {
		if p.chooseCarrier(t); p.carrier != 0 {
			p.replaceAll()
		}
	}
	p.g.Stopper.ResumeAll()
}

// replaceAll opens each probe for the carrier, and has the one before closed. Breakpoints end whose probe cannot be opened. All
// threads are stopped.
func (p *probes) replaceAll() {
	failed := map[uint64]error{}
	for _, kind := range p.kinds() {
		tried := map[bkpt.Probe]error{}
		for addr, probe := range kind.All() {
			err, again := tried[probe]
			if !again {
				err = p.replace(addr, probe.(placed), kind == p.total)
				tried[probe] = err
			}
			if err != nil {
				failed[addr] = err
			}
		}
	}
	for addr, err := range failed {
		p.c.traps.endBreaks(addr, fmt.Errorf("the thread that its uprobe was opened for has ended: %w", err))
	}
}

// replace makes a probe one for the carrier.
func (p *probes) replace(addr uint64, probe placed, everywhere bool) error {
	f, at, err := p.textFile(addr)
	if err != nil {
		return err
	}
	defer f.Close()
	if at.orig = probe.orig; at != probe.place {
		return errTextChanged // the program maps another file there by now
	}
	path := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	var was io.Closer
	switch inner := probe.Closer.(type) {
	case *perfevent.Link:
		p.signals.Through(p.carrier)
		by, err := p.signals.Probe(path, at.off, 0)
		if err != nil {
			return err
		}
		was = inner.Replace(by)
	case *tally:
		if everywhere {
			addr = 0
		}
		by, err := perfevent.OpenCounter(p.g.PID, p.carrier, path, at.off, addr)
		if err != nil {
			return err
		}
		was = inner.replace(by)
	}
	p.open.Add(1)
	p.closer.Close(counted{was, &p.open, make(chan struct{})})
	return nil
}
