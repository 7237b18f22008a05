package control

import (
	"context"
	"errors"
	"slices"

	"ptools/internal/perfevent"
	"ptools/pctl/bkpt"
)

// errFirstEnded is why breakpoints end that are perf events of the uprobe PMU.
var errFirstEnded = errors.New("the first thread of the process has ended, and before Linux 6.6 its uprobes end with it; --trap int3 has no such limit")

// A firstThread watches the first thread of a process whose uprobes end with that thread (perfevent.EndWithThread). The kernel
// tells a tracer nothing of its end while others run, and takes the traps out of the text. Without the watch hits would be
// missed silently.
type firstThread struct {
	end    *perfevent.ThreadEnd
	cancel context.CancelFunc
}

// watchFirst begins to watch, before the first probe of an address space is made.
func (p *probes) watchFirst() error {
	if p.first != nil || !perfevent.EndWithThread() {
		return nil
	}
	end, err := perfevent.WatchThread(p.g.PID)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &firstThread{end: end, cancel: cancel}
	p.first = w
	p.watchers.Go(func() { // ends with the thread, or by unwatchFirst
		if end.Wait() {
			_ = p.g.Requests.Do(ctx, func() { p.firstEnded(w) }) // refused: control is over
		}
	})
	return nil
}

// unwatchFirst ends the watch.
func (p *probes) unwatchFirst() {
	if w := p.first; w != nil {
		p.first = nil
		w.cancel()
		w.end.Close()
	}
}

// firstEnded ends the breakpoints that get no hits any more. The first thread ends in an execve(2) of another one too: that will
// be reported, and ends all breakpoints.
func (p *probes) firstEnded(w *firstThread) {
	if p.first != w || p.c.image.executing() || p.g.Memory.Mem.Stale() {
		return
	}
	x, kinds := &p.c.traps, p.kinds()
	for _, bs := range x.breaks {
		for _, b := range slices.Clone(bs) {
			if b.bp == nil || !slices.ContainsFunc(kinds[:], func(u *bkpt.Uprobes) bool { return u.Has(b.bp) }) {
				continue
			}
			if b == p.c.image.brk {
				x.killRisk.unseen(errFirstEnded)
			}
			x.endBreak(b, errFirstEnded)
		}
	}
}
