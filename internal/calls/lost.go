package calls

import (
	"errors"
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
