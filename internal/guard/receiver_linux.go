package guard

import "syscall"

// A receiver is the guard's side of the socket. It waits for messages, and for the end of the canary.
type receiver struct {
	ledger ledger
	socket int
	epoll  int // what has happened carries the number of an address space, 0 for the socket
	p, oob []byte
	m      message
}

func newReceiver(socket int) (*receiver, error) {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	r := &receiver{
		ledger: ledger{}, socket: socket, epoll: epoll,
		p: make([]byte, mostBytes), oob: make([]byte, syscall.CmsgSpace(2*4)),
	}
	return r, r.await(socket, 0)
}

func (r *receiver) await(fd int, id uint32) error {
	return syscall.EpollCtl(r.epoll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(id)})
}

// serve returns when the sender is gone, or has closed its end, and everything is lifted. A canary
// that has ended was killed, if the watch was not closed before.
func (r *receiver) serve() {
	defer r.ledger.lift()
	events := make([]syscall.EpollEvent, 8)
	for {
		n, err := syscall.EpollWait(r.epoll, events, -1)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || !r.drain() {
			return
		}
		for _, e := range events[:n] {
			if s := r.ledger[uint32(e.Fd)]; s != nil {
				s.lift()
				s.mem.Close()
				delete(r.ledger, uint32(e.Fd))
			}
		}
	}
}

// drain takes notice of everything that was sent. It reports false at the end of it, also at a
// message that cannot be understood: what follows may build on it.
func (r *receiver) drain() (more bool) {
	for {
		n, on, flags, _, err := syscall.Recvmsg(r.socket, r.p, r.oob, syscall.MSG_CMSG_CLOEXEC|syscall.MSG_DONTWAIT)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return true
		case err != nil || n == 0 || flags&(syscall.MSG_TRUNC|syscall.MSG_CTRUNC) != 0 || !r.m.decode(r.p[:n]):
			return false
		}
		var mem memory
		if on > 0 {
			fds, err := received(r.oob[:on])
			if err != nil || len(fds) == 0 {
				return false
			}
			mem = target(fds)
			for _, fd := range fds[1:] {
				_ = r.await(fd, r.m.id) // else the end of the socket tells
			}
		}
		if r.ledger.apply(&r.m, mem) == errMessage {
			return false
		}
	}
}

// received returns the descriptors that came with a message.
func received(oob []byte) ([]int, error) {
	msgs, err := syscall.ParseSocketControlMessage(oob)
	if err != nil || len(msgs) != 1 {
		return nil, err
	}
	return syscall.ParseUnixRights(&msgs[0])
}

// target is the descriptors of a target: its /proc/PID/mem, and a pidfd of the canary, where there
// is such a thing. Half of the addresses are negative offsets, which os.File refuses.
type target []int

func (t target) ReadAt(p []byte, off int64) (int, error)  { return syscall.Pread(t[0], p, off) }
func (t target) WriteAt(p []byte, off int64) (int, error) { return syscall.Pwrite(t[0], p, off) }

func (t target) Close() error {
	for _, fd := range t {
		syscall.Close(fd)
	}
	return nil
}
