package procfs

import (
	"encoding/hex"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// SocketEnd is what is known of a socket.
type SocketEnd struct {
	Kind          string // "tcp", "udp", "unix"; empty if it is of another kind
	Local, Remote string // addresses, or the path of a unix socket; empty if there is none
	Listening     bool
	Peer          uint64 // inode of the other end, if that is on this machine; 0 if it is not known
}

// Sockets are the sockets of the network namespaces of some processes. A namespace is read at the first question about it.
type Sockets struct {
	tables map[string][]netLine // by namespace
	ours   string
}

// netLine is a line of /proc/PID/net/tcp and files of the same form.
type netLine struct {
	kind          string
	local, remote netip.AddrPort
	listening     bool
	inode         uint64
}

// listening is TCP_LISTEN in the kernel's state of a socket.
const listening = 10

// End returns what is known of a socket of a process by its name in /proc/PID/fd, "socket:[4711]".
func (s *Sockets) End(pid int, name string) SocketEnd {
	number := strings.TrimSuffix(strings.TrimPrefix(name, "socket:["), "]")
	inode, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return SocketEnd{}
	}
	dir := "/proc/" + strconv.Itoa(pid)
	namespace, _ := os.Readlink(dir + "/ns/net")
	if s.tables == nil {
		s.tables = make(map[string][]netLine)
		s.ours, _ = os.Readlink("/proc/self/ns/net")
	}
	table, ok := s.tables[namespace]
	if !ok {
		for _, file := range []string{"tcp", "tcp6", "udp", "udp6"} {
			text, _ := os.ReadFile(dir + "/net/" + file) // without one there are none of the kind
			table = append(table, parseNet(file[:3], string(text))...)
		}
		s.tables[namespace] = table
	}
	for _, l := range table {
		if l.inode == inode {
			return l.end(table)
		}
	}
	if namespace == s.ours { // others are not asked about: that would take a thread in their namespace
		return unixSocket(uint32(inode))
	}
	return SocketEnd{}
}

// end returns what a line says, with the inode of the line in table that is the other end.
func (l *netLine) end(table []netLine) SocketEnd {
	e := SocketEnd{Kind: l.kind, Local: l.local.String(), Listening: l.listening}
	if l.remote.Port() == 0 {
		return e
	}
	e.Remote = l.remote.String()
	for _, other := range table {
		if other.kind == l.kind && other.local == l.remote && other.remote == l.local && other.inode != 0 {
			e.Peer = other.inode
		}
	}
	return e
}

// parseNet parses a file of the form of /proc/net/tcp: a line of headings, then for each socket its number, its
// addresses, its state and, as the tenth word, its inode.
func parseNet(kind, text string) (lines []netLine) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 10 {
			continue
		}
		local, ok1 := parseEndpoint(words[1])
		remote, ok2 := parseEndpoint(words[2])
		state, err1 := strconv.ParseUint(words[3], 16, 8)
		inode, err2 := strconv.ParseUint(words[9], 10, 64)
		if ok1 && ok2 && err1 == nil && err2 == nil {
			lines = append(lines, netLine{kind, local, remote, kind == "tcp" && state == listening, inode})
		}
	}
	return lines
}

// parseEndpoint parses an address as the kernel prints it: words of 32 bits in the byte order of the machine, and the port.
func parseEndpoint(text string) (netip.AddrPort, bool) {
	addr, port, ok := strings.Cut(text, ":")
	b, err := hex.DecodeString(addr)
	n, err2 := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || err2 != nil || len(b) != 4 && len(b) != 16 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(b); i += 4 { // x86-64 and arm64 are little-endian
		b[i], b[i+1], b[i+2], b[i+3] = b[i+3], b[i+2], b[i+1], b[i]
	}
	a, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), true
}
