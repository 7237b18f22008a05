package calls

import (
	"errors"
	"slices"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
)

// ErrFirstEnds says that calls are not counted any more.
var ErrFirstEnds = errors.New("its first thread has ended: before Linux 6.6 no calls are counted from then on")

// lostAfter is how long the first thread must have ended before the others. Where all end, they do so within that time.
const lostAfter = 100 * time.Millisecond

// Lost returns why no calls are counted any more although the process lives; nil if they are. It is to be called several times a second.
func (w *Watch) Lost() error {
	if w.lost != nil || !w.Polled() {
		return w.lost
	}
	stat, err := procfs.ReadStat(w.PID)
	if err != nil || stat.Ended() || stat.State != 'Z' && stat.State != 'X' {
		w.firstEnded = time.Time{}
		return nil
	}
	if w.firstEnded.IsZero() {
		w.firstEnded = time.Now()
	}
	if time.Since(w.firstEnded) >= lostAfter {
		w.lost = ErrFirstEnds
	}
	return w.lost
}

// Polled reports whether Lost has to be called.
func (w *Watch) Polled() bool { return w.spec.Planter == nil && perfevent.EndWithThread() }

// Uncounted returns how many calls began or ended in text that was mapped again after Open, and how many there were for whose condition memory
// could not be read. Neither are counted.
func (w *Watch) Uncounted() (elsewhere, unread uint64) {
	return w.kernel.Elsewhere(), w.kernel.Unread()
}

// Why no call of a process would be counted.
var (
	ErrFirstEnded = errors.New("its first thread has ended: the kernel plants no uprobes in such a process")
	ErrExec       = errors.New("it has executed another program meanwhile")
)

// countsAny returns an error if no probe is planted. The kernel asks which memory the first thread has (uprobe_multi_link_filter), and
// returns no error where that thread has none.
func countsAny(w *Watch) error {
	stat, err := procfs.ReadStat(w.PID)
	switch {
	case err != nil:
		return err
	case w.spec.Planter == nil && (stat.State == 'Z' || stat.State == 'X') && !stat.Ended():
		return ErrFirstEnded
	case !stat.Ended() && !w.image.Current():
		return ErrExec
	case !slices.ContainsFunc(w.Targets, func(t Target) bool { return t.Err == nil }):
		return ErrNothing
	}
	return nil
}
