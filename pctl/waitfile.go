package pctl

import (
	"fmt"
	"strings"

	"ptools/internal/clean"
	"ptools/internal/procfs"
)

// OpenFile is a descriptor that a thread waits at.
type OpenFile struct {
	FD    int
	Path  string // as /proc/PID/fd has it: "pipe:[4711]"
	Write bool   // it wants to write
	Peers []Peer // processes that had the other end of a pipe or a socket when this was asked
	// Socket is what kind of socket it is, and between which addresses.
	Socket Socket
}

// Socket is what the kernel tells of a socket. The other end of a unix socket is known in our network namespace only, that
// of a TCP connection where both ends are in one namespace.
type Socket struct {
	Kind          string // "tcp", "udp" or "unix"; empty: it is no socket, or of another kind
	Local, Remote string // addresses; of a unix socket its path
	Listening     bool
}

// Peer is a process at the other end.
type Peer struct {
	PID  int
	Name string
}

// openFile describes a descriptor that a thread waits at. findPeers adds the peers later.
func (q *inquiry) openFile(tid, fd int, write bool) OpenFile {
	f := OpenFile{FD: fd, Write: write}
	f.Path, _ = procfs.FileName(q.p.PID(), fd)
	switch {
	case strings.HasPrefix(f.Path, "pipe:["):
		q.far = append(q.far, farEnd{tid, f.Path, !write})
	case strings.HasPrefix(f.Path, "socket:["):
		end := q.net.End(q.p.PID(), f.Path)
		f.Socket = Socket{end.Kind, end.Local, end.Remote, end.Listening}
		if end.Peer != 0 {
			q.far = append(q.far, farEnd{tid, fmt.Sprintf("socket:[%d]", end.Peer), !write})
		}
	}
	return f
}

// farEnd is the other end of what a thread waits at.
type farEnd struct {
	tid     int
	name    string // as in /proc/PID/fd
	writers bool   // peers are the processes that can write to it; otherwise those that can read from it
}

// findPeers completes the waits of all threads whose far ends are to be found. It reads the descriptors of all processes
// once, some microseconds for each.
func (q *inquiry) findPeers(waits map[int]Wait) {
	if len(q.far) == 0 {
		return
	}
	ends, known := procfs.FindEnds(), make(map[farEnd][]Peer)
	for _, e := range q.far {
		key := farEnd{name: e.name, writers: e.writers}
		peers, ok := known[key]
		if !ok {
			for _, pid := range ends.Holders(e.name, e.writers, q.p.PID()) {
				name, _ := procfs.ReadComm(pid, pid)
				peers = append(peers, Peer{pid, name})
			}
			known[key] = peers
		}
		w := waits[e.tid]
		w.File.Peers = peers
		waits[e.tid] = w
	}
}

func (f OpenFile) String() string {
	s := fmt.Sprintf("fd %d", f.FD)
	if f.Path != "" {
		s += " (" + clean.Text(f.Path) + ")"
	}
	s += f.Socket.String()
	for i, p := range f.Peers {
		sep := ", "
		switch {
		case i > 0:
		case f.Socket.Kind != "":
			sep = ", peer "
		case f.Write:
			sep = ", read by "
		default:
			sep = ", written by "
		}
		s += fmt.Sprintf("%spid %d (%s)", sep, p.PID, clean.Text(p.Name))
	}
	return s
}

// String is what follows the name of a socket, empty if nothing is known.
func (s Socket) String() string {
	text := ""
	if s.Kind != "" {
		text = ", " + s.Kind
	}
	if s.Local != "" {
		text += " " + clean.Text(s.Local)
	}
	if s.Listening {
		text += ", listening"
	}
	if s.Remote != "" {
		text += " to " + clean.Text(s.Remote)
	}
	return text
}
