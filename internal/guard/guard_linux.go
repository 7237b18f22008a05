package guard

import (
	"os"
	"sync"
	"syscall"
)

// patience bounds, in seconds, how long a full socket is waited for: somebody has stopped the guard.
const patience = 1

// A Guard starts the guard process and talks to it. The zero value is ready. It may be used from
// any goroutine.
type Guard struct {
	mu      sync.Mutex
	watches int // not yet closed
	socket  int // our end; 0: there is none
	canary  *canary
	started chan struct{} // closed when the guard runs, or cannot
	lastID  uint32
	buf     []byte
}

// join adds one watch.
func (g *Guard) join() {
	g.mu.Lock()
	g.watches++
	g.mu.Unlock()
}

// part takes one watch away. With the last one the guard ends; part returns when nothing of it is
// left in this process.
func (g *Guard) part() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.watches--; g.watches == 0 && g.socket != 0 {
		syscall.Close(g.socket)
		g.socket = 0
		g.canary.close()
		<-g.started
	}
}

// open gives the memory of a target, and the canary, to the guard, which it starts if there is none.
// It returns the target's number.
func (g *Guard) open(mem *os.File) (id uint32, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.socket == 0 {
		if err := g.start(); err != nil {
			return 0, err
		}
	}
	fds := []int{int(mem.Fd())}
	if g.canary.fd >= 0 {
		fds = append(fds, g.canary.fd)
	}
	g.lastID++
	return g.lastID, g.send(&message{op: opOpen, id: g.lastID}, syscall.UnixRights(fds...))
}

// start makes the socket and, meanwhile, the process: what is sent waits for it. The goroutine ends
// when the first of the guard's two processes has; part waits for that.
func (g *Guard) start() error {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	syscall.SetsockoptTimeval(fds[0], syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &syscall.Timeval{Sec: patience})
	g.socket, g.canary, g.started = fds[0], newCanary(), make(chan struct{})
	theirs, started := os.NewFile(uintptr(fds[1]), "guard"), g.started
	go func() {
		defer close(started)
		defer theirs.Close() // sending to nobody fails
		if p, err := execute(stageStart, theirs); err == nil {
			p.Wait()
		}
	}()
	return nil
}

// post is send for all but opOpen.
func (g *Guard) post(m *message) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.send(m, nil)
}

// send hands a message to the kernel, whole; rights may come with it. g.mu is held.
func (g *Guard) send(m *message, rights []byte) error {
	g.buf = m.append(g.buf[:0])
	for {
		_, err := syscall.SendmsgN(g.socket, g.buf, rights, nil, syscall.MSG_NOSIGNAL)
		if err != syscall.EINTR {
			return err
		}
	}
}
