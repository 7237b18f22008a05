package sample

import (
	"sync/atomic"

	"ptools/internal/profile"
)

// namer looks up the names of addresses on its own goroutine. Reading the symbols or
// the line tables of a file for the first time takes up to a second; rounds do not
// wait for that. It keeps no names: the image remembers what has been looked up once.
type namer struct {
	image   preparer
	work    chan []profile.Addr
	queue   *queue
	busy    atomic.Bool // a batch is under way
	stopped atomic.Bool
	quit    chan struct{} // closed to end the goroutine
	done    chan struct{}
	handed  int // addresses of the space that were handed in so far
	warm    int // of those, addresses that have been looked up
}

// namesPerRound bounds how many names a round takes over, about a microsecond each.
const namesPerRound = 200

// preparer is the part of a source.Image that looks up names.
type preparer interface{ Prepare(profile.Addr) }

// newNamer returns a namer that takes its turn in the queue of a process, which may be nil, and leaves that in the end.
func newNamer(image preparer, q *queue) *namer {
	n := &namer{image: image, queue: q, work: make(chan []profile.Addr, 1), quit: make(chan struct{}), done: make(chan struct{})}
	go n.run() // ended and awaited by stop
	return n
}

func (n *namer) run() {
	defer close(n.done)
	defer n.queue.leave()
	for batch := range n.work {
		for _, a := range batch {
			if !n.queue.do(n.quit, func() { n.image.Prepare(a) }) {
				return
			}
		}
		n.busy.Store(false)
	}
}

// step hands in the new addresses of the space, and takes over names that have
// been looked up. It never waits.
func (n *namer) step(s *profile.Space) {
	if n.busy.Load() {
		return
	}
	n.warm = n.handed
	s.Resolve(min(namesPerRound, n.warm-s.Resolved()))
	if batch := s.Addrs(n.handed); len(batch) > 0 {
		n.handed += len(batch)
		n.busy.Store(true)
		n.work <- batch // the channel is empty while the other goroutine is not busy
	}
}

// again has addresses looked up again. It never waits. It must be called only while nothing is being looked up.
func (n *namer) again(batch []profile.Addr) {
	if len(batch) > 0 {
		n.busy.Store(true)
		n.work <- batch
	}
}

// finished takes over all names that have been looked up, and reports whether those are all of the space. It hands in
// addresses that were not handed in yet.
func (n *namer) finished(s *profile.Space) bool {
	if n.busy.Load() {
		return false
	}
	s.Resolve(n.handed - s.Resolved())
	n.step(s)
	return s.Resolve(0) == 0
}

// idle reports whether nothing is being looked up. Addresses that this round has met may not have been handed in yet.
func (n *namer) idle() bool { return !n.busy.Load() }

// stop ends the goroutine and waits for it. It may be called again.
func (n *namer) stop() {
	if !n.stopped.Swap(true) {
		close(n.quit)
		close(n.work)
	}
	<-n.done
}
