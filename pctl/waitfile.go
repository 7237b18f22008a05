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
	Fifo  bool   // WaitOpen: it is a fifo whose other end no process has opened
	// Peers are processes that had the other end of a pipe or a socket when this was asked, 64 at most. Others is how many more
	// there were.
	Peers  []Peer
	Others int
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

// reads is a call that waits for data of the descriptor in an argument.
func reads(arg int) waitCall {
	return waitCall{tell: func(a *asked) { a.Kind = WaitFile; a.openFile(&a.File, a.int(arg), false, 0) }}
}

// writes is one that waits for room.
func writes(arg int) waitCall {
	return waitCall{tell: func(a *asked) { a.Kind = WaitFile; a.openFile(&a.File, a.int(arg), true, 0) }}
}

// openFile describes a descriptor that a thread waits at, which has that inode or, with 0, any. findPeers adds the peers
// later.
func (q *inquiry) openFile(f *OpenFile, fd int, write bool, inode uint64) {
	*f = OpenFile{FD: fd, Write: write}
	name, _ := procfs.FileName(q.p.PID(), fd)
	if !(watched{inode: inode}).is(name) {
		return // the number belongs to another file by now
	}
	f.Path = name
	switch {
	case strings.HasPrefix(name, "pipe:["):
		q.far = append(q.far, farEnd{f, name, !write})
	case strings.HasPrefix(name, "socket:["):
		end := q.net.End(q.p.PID(), name)
		f.Socket = Socket{end.Kind, end.Local, end.Remote, end.Listening}
		if end.Peer != 0 {
			q.far = append(q.far, farEnd{f, fmt.Sprintf("socket:[%d]", end.Peer), !write})
		}
	}
}

// farEnd is the other end of what a thread waits at.
type farEnd struct {
	file    *OpenFile
	name    string // as in /proc/PID/fd
	writers bool   // peers are the processes that can write to it; otherwise those that can read from it
}

// findPeers completes all files whose far ends are to be found. It reads the descriptors of all processes once, some
// microseconds for each.
func (q *inquiry) findPeers() {
	if len(q.far) == 0 {
		return
	}
	names := make(map[string]bool)
	for _, e := range q.far {
		names[e.name] = true
	}
	type found struct {
		peers  []Peer
		others int
	}
	ends, known := procfs.FindEnds(names), make(map[farEnd]found)
	for _, e := range q.far {
		key := farEnd{name: e.name, writers: e.writers}
		f, ok := known[key]
		if !ok {
			f.peers, f.others = peersOf(ends.Holders(e.name, e.writers, q.p.PID()))
			known[key] = f
		}
		e.file.Peers, e.file.Others = f.peers, f.others
	}
}

// mostPeers bounds the processes that are named.
const mostPeers = 64

// peersOf returns the first of some processes with their names, and how many others there are.
func peersOf(pids []int) (peers []Peer, others int) {
	for _, pid := range pids[:min(len(pids), mostPeers)] {
		name, _ := procfs.ReadComm(pid, pid)
		peers = append(peers, Peer{pid, name})
	}
	return peers, len(pids) - len(peers)
}

// others says how many are not named.
func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
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
	return s + others(f.Others)
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
