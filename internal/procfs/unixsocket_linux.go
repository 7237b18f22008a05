package procfs

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// unixDiagRequest asks for one unix socket (linux/unix_diag.h, struct unix_diag_req, behind a netlink header).
type unixDiagRequest struct {
	unix.NlMsghdr
	family, protocol uint8
	_                uint16
	states, inode    uint32
	show             uint32
	cookie           [2]uint32
}

// Constants of linux/unix_diag.h.
const (
	sockDiagByFamily = 20
	unixDiagShowName = 1
	unixDiagShowPeer = 4
	unixDiagName     = 0
	unixDiagPeer     = 2
	unixDiagMessage  = 16 // bytes of struct unix_diag_msg
)

// unixSocket asks the kernel for the path and the other end of a unix socket of our network namespace. Without a reply
// it returns an empty SocketEnd.
func unixSocket(inode uint32) (e SocketEnd) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return e
	}
	defer unix.Close(fd)
	r := unixDiagRequest{family: unix.AF_UNIX, states: ^uint32(0), inode: inode, show: unixDiagShowName | unixDiagShowPeer, cookie: [2]uint32{^uint32(0), ^uint32(0)}}
	r.NlMsghdr = unix.NlMsghdr{Len: uint32(unsafe.Sizeof(r)), Type: sockDiagByFamily, Flags: unix.NLM_F_REQUEST}
	request := unsafe.Slice((*byte)(unsafe.Pointer(&r)), unsafe.Sizeof(r))
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return e
	}
	var buf [4096]byte
	n, _, err := unix.Recvfrom(fd, buf[:], unix.MSG_DONTWAIT) // the kernel has answered within the call
	if err != nil {
		return e
	}
	return parseUnixDiag(buf[:n], inode)
}

// parseUnixDiag parses the kernel's reply.
func parseUnixDiag(b []byte, inode uint32) (e SocketEnd) {
	le := binary.NativeEndian
	const head = unix.SizeofNlMsghdr + unixDiagMessage
	if len(b) < head || le.Uint16(b[4:]) != sockDiagByFamily || le.Uint32(b[unix.SizeofNlMsghdr+4:]) != inode {
		return e
	}
	e.Kind, e.Listening = "unix", b[unix.SizeofNlMsghdr+2] == listening
	b = b[head:min(len(b), max(int(le.Uint32(b)), head))]
	for len(b) >= unix.SizeofRtAttr {
		size := int(le.Uint16(b))
		if size < unix.SizeofRtAttr || size > len(b) {
			break
		}
		switch value := b[unix.SizeofRtAttr:size]; {
		case le.Uint16(b[2:]) == unixDiagName && len(value) > 0 && value[0] == 0:
			e.Local = "@" + string(value[1:]) // of the abstract namespace
		case le.Uint16(b[2:]) == unixDiagName:
			path, _, _ := bytes.Cut(value, []byte{0})
			e.Local = string(path)
		case le.Uint16(b[2:]) == unixDiagPeer && len(value) >= 4:
			e.Peer = uint64(le.Uint32(value))
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return e
}
