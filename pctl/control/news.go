package control

import (
	"fmt"
	"syscall"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/notify"
)

// publish stamps an event and hands it to the bus, which never blocks.
func (c *Controller) publish(e notify.Event) {
	if e.Kind != 0 && c.tracees.Trace != nil {
		c.tracees.Trace.Told(c.tracees.PID, e.Kind.String())
	}
	if c.bus.Wants(e.Kind) {
		e.Time, e.PID = time.Now(), c.tracees.PID
		c.bus.Publish(e)
	}
}

// lifecycle handles what package tracee reports of the process: births, execs, group stops
// and ends (tracee.News).
type lifecycle struct{ c *Controller }

// Born publishes a new thread or process.
func (l *lifecycle) Born(t *tracee.Thread, child int, r tracee.Role, kind ptrace.Kind) {
	if r != tracee.RoleThread {
		e := notify.Event{Kind: notify.Fork, TID: t.TID, Child: child}
		if kind == ptrace.KindVfork {
			e.Kind = notify.Vfork
		}
		l.c.publish(e)
		return
	}
	if l.c.opt.OnThreadStart != nil && l.c.tracees.LoadRegs(t) == nil {
		l.c.opt.OnThreadStart(t.TID, child, &t.Regs)
	}
	l.c.publish(notify.Event{Kind: notify.ThreadStart, TID: child, Child: child})
}

// GroupStop publishes a group stop and, with SIGCONT, its end.
func (l *lifecycle) GroupStop(t *tracee.Thread, sig syscall.Signal) {
	kind := notify.GroupStop
	if sig == syscall.SIGCONT {
		kind = notify.GroupContinue
	}
	l.c.publish(notify.Event{Kind: kind, TID: t.TID, Signal: int(sig)})
}

// ResumesAll begins a rendezvous that was asked for while threads were being stopped.
func (l *lifecycle) ResumesAll() { l.c.rendezvous.nextPoint() }

// Ended drops the record of a thread that has ended.
func (l *lifecycle) Ended(t *tracee.Thread, s ptrace.Stop) {
	l.c.tracees.Drop(t)
	if t.Role != tracee.RoleThread {
		return
	}
	l.c.parting.lastEnd = s
	if t.TID != l.c.tracees.PID {
		l.c.publish(notify.Event{Kind: notify.ThreadExit, TID: t.TID, Code: s.Code, Signal: int(s.Signal)})
		return
	}
	for _, other := range l.c.tracees.Threads {
		if other.Role == tracee.RoleThread {
			l.c.tracees.Drop(other)
		}
	}
	l.c.tellUncounted()
	l.c.publish(undead(s))
	l.c.parting.finish(ErrEnded)
}

// Lost is called when there is nothing left to wait for although the end of the target was
// not seen. Either its leader was dead when we attached, and the last thread has ended. Or
// another thread of this program has collected its status.
func (l *lifecycle) Lost(err error) {
	if l.c.tracees.Phase().Gone() {
		l.c.tracees.Enter(tracee.PhaseEnded)
		return
	}
	if l.c.parting.regain() {
		return
	}
	l.c.tellUncounted()
	if e, ok := l.c.parting.endUnseen(); ok {
		l.c.publish(e)
	} else {
		l.c.publish(notify.Event{Kind: notify.Lost, Err: fmt.Errorf("nothing left to wait for: %w", err)})
	}
	l.c.parting.finish(ErrEnded)
}

// endUnseen finds out how a process has ended whose leader could not be seized because it
// was dead already. The kernel gives the status of the process to every thread that
// exit_group(2) or a signal ends. Otherwise the status is that of the leader.
func (p *parting) endUnseen() (notify.Event, bool) {
	st, err := procfs.ReadStat(p.g.PID)
	if err == nil && st.State != 'Z' && st.State != 'X' {
		return notify.Event{}, false
	}
	last := p.lastEnd
	if err == nil {
		last = ptrace.Decode(p.g.PID, uint32(st.ExitCode))
	} else if last.Kind == ptrace.KindNone {
		return notify.Event{}, false
	}
	return undead(last), true
}

func undead(s ptrace.Stop) notify.Event {
	return notify.Event{
		Kind: notify.Undead, TID: s.TID, Exited: s.Kind == ptrace.KindExited, Code: s.Code,
		Signal: int(s.Signal), Core: s.Core,
	}
}
