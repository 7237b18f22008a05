package sample

import "fmt"

// unread is the threads of a process that live and whose files could not be opened.
type unread struct {
	threads int
	err     error // of the last
}

// cannotRead counts a thread whose files cannot be opened. It is tried again in the next round.
func (p *process) cannotRead(err error) {
	if vanished(err) {
		return // it has ended
	}
	p.unread.threads++
	p.unread.err = err
	p.stale = true
}

// sayUnread makes it an error if no thread could be read.
func (p *process) sayUnread() {
	p.sampler.cost.Unread += int64(p.unread.threads)
	if p.unread.threads > 0 && len(p.threads) == 0 && p.err == nil {
		p.err = fmt.Errorf("none of its %d threads can be read: %w", p.unread.threads, p.unread.err)
	}
}
