package pctl

import (
	"fmt"
	"strconv"
	"strings"

	"ptools/internal/clean"
	"ptools/internal/procfs"
)

// OpenFile is a descriptor that a thread waits at.
type OpenFile struct {
	FD    int
	Path  string // as /proc/PID/fd has it: "pipe:[4711]"
	Write bool   // it wants to write
	Peers []Peer // processes that had the other end of a pipe or a socket at the time of the call
	// Socket is the kind and the addresses of a socket.
	Socket Socket
}

// Socket is what the kernel shows of a socket. The other end of a unix socket is known only in our network namespace.
// That of a TCP connection is known if both ends are in one namespace.
type Socket struct {
	Kind          string // "tcp", "udp" or "unix"; empty: no socket, or of another kind
	Local, Remote string // addresses; the path of a unix socket
	Listening     bool
}

// Peer is a process at the other end.
type Peer struct {
	PID  int
	Name string
}

// openFile describes a descriptor.
func (q *inquiry) openFile(fd int, write bool) OpenFile {
	f := OpenFile{FD: fd, Write: write}
	f.Path, _ = procfs.FileName(q.p.PID(), fd)
	switch {
	case strings.HasPrefix(f.Path, "pipe:["):
		f.Peers = q.holders(f.Path, !write)
	case strings.HasPrefix(f.Path, "socket:["):
		end := q.net.End(q.p.PID(), f.Path)
		f.Socket = Socket{end.Kind, end.Local, end.Remote, end.Listening}
		if end.Peer != 0 {
			f.Peers = q.holders(fmt.Sprintf("socket:[%d]", end.Peer), !write)
		}
	}
	return f
}

// holders returns the processes that hold an end of a pipe or a socket.
func (q *inquiry) holders(end string, writers bool) []Peer {
	key := strconv.FormatBool(writers) + end
	peers, ok := q.peers[key]
	if !ok {
		if q.ends == nil {
			q.ends = procfs.FindEnds()
		}
		for _, pid := range q.ends.Holders(end, writers, q.p.PID()) {
			name, _ := procfs.ReadComm(pid, pid)
			peers = append(peers, Peer{pid, name})
		}
		if q.peers == nil {
			q.peers = make(map[string][]Peer)
		}
		q.peers[key] = peers
	}
	return peers
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

// String returns the text that follows the name of a socket; empty if nothing is known.
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
