package control

import (
	"context"
	"fmt"
	"syscall"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// Occurrence is something that has happened to a process of a tree.
type Occurrence struct {
	Kind OccurrenceKind
	PID  int
	// Parent is the process that has made it (Born, Taken).
	Parent int
	// Control is what controls it (Taken).
	Control *Controller
}

// OccurrenceKind says what has happened.
type OccurrenceKind uint8

const (
	// Born: a process was made that uses its parent's memory (vfork(2), posix_spawn(3)), and is not controlled yet.
	Born OccurrenceKind = iota
	// Taken: the process is controlled, and has not run since unless it existed before. If it was Born, it is
	// Taken at its first exec.
	Taken
	// Execed: it has executed a program. A process that was Born is Taken first.
	Execed
	// Ended: it has ended, and is still to be waited for.
	Ended
	// Left: it is not controlled, or not any more, and its end will not be reported.
	Left
)

// family is what the processes of a tree share. It belongs to the control goroutine.
type family struct {
	observe func(Occurrence) // nil: it is not observed
}

func (f *family) tell(o Occurrence) {
	if f.observe != nil {
		f.observe(o)
	}
}

// Observe calls observe for the occurrences of a tree: of this process, of those that follow it, and of those
// that it makes and that do not follow. Nothing else is done about those that do not follow. Their threads can
// be looked at, and the observer has to release them. The descendants that exist already are reported before
// Observe returns. observe is called on the control goroutine. A nil observe ends the observation: what is born
// then is not followed.
func (c *Controller) Observe(ctx context.Context, observe func(Occurrence)) (err error) {
	asked := c.tracees.Requests.Do(ctx, func() {
		if observe == nil {
			c.following.family.observe, c.tracees.Ending = nil, nil
			return
		}
		if st, unread := procfs.ReadStat(c.tracees.PID); unread == nil && st.PPID == ptrace.ProcessID() && c.tracees.Reports.OwnChild() {
			err = ErrOwnChild
			return
		}
		c.following.family.observe = observe
		c.following.isTree.Store(true)
		c.tracees.Ending = func(pid int) { observe(Occurrence{Kind: Ended, PID: pid}) }
		c.following.followPresent(ctx)
	})
	if asked != nil {
		return asked
	}
	return err
}

// mostObserved bounds the processes of a tree that do not follow.
const mostObserved = 4096

// observed returns the options for control of a process that does not follow, or nil if the tree is not
// observed.
func (f *following) observed(b Birth) (*Options, error) {
	if f.family.observe == nil {
		return nil, nil
	}
	if b.Controlled >= mostObserved {
		return nil, fmt.Errorf("%d processes are followed already", b.Controlled)
	}
	return &Options{Mode: f.c.opt.Mode, Files: f.c.opt.Files, unread: true}, nil
}

// Observed reports whether control was taken for an observer, which has to end it.
func (c *Controller) Observed() bool { return c.opt.unread }

// Shares reports a new thread of another process that uses the memory of this one.
func (l *lifecycle) Shares(tid int) {
	family := l.c.following.family
	if family.observe != nil && ptrace.Kill(tid, tid, 0) != syscall.ESRCH { // else it is not the first thread of its process
		family.tell(Occurrence{Kind: Born, PID: tid, Parent: l.c.tracees.PID})
	}
}

// demand opens the memory of a process that is observed, when its threads are looked at. Most processes end
// before that.
func (i *image) demand() {
	if i.c.opt.unread && i.g.Memory.Absent() {
		i.g.Memory.Open() // without it the process is in the middle of an exec or of its end
	}
}
