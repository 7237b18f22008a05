package sample

import (
	"fmt"
	"syscall"

	"ptools/internal/procfs"
)

// unread counts the living threads of a process whose files could not be opened.
type unread struct {
	threads int
	err     error // of the last
}

// cannotRead counts a thread whose files cannot be opened. It is tried again in the next round.
func (r *roster) cannotRead(err error) {
	if vanished(err) {
		return // it has ended
	}
	r.unread.threads++
	r.unread.err = err
	r.stale = true
}

// sayUnread counts unread threads in the cost, and sets an error if no thread could be read.
func (r *roster) sayUnread() {
	r.p.sampler.cost.Unread += int64(r.unread.threads)
	if r.unread.threads > 0 && len(r.threads) == 0 && r.p.err == nil {
		r.p.err = fmt.Errorf("none of its %d threads can be read: %w", r.unread.threads, r.unread.err)
	}
}

// errLacking is the error of a profile that lacks what could not be read.
var errLacking = fmt.Errorf("files of /proc cannot be opened: %w (raise ulimit -n)", syscall.EMFILE)

// lacking reports whether descriptors have run out since Run began.
func (s *Sampler) lacking() bool { return procfs.Lacks() != s.lacks }
