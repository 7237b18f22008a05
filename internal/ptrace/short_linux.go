package ptrace

import "golang.org/x/sys/unix"

// Flags of recvfrom(2), recvmsg(2) and recvmmsg(2).
const (
	waitAll    = 0x100   // MSG_WAITALL
	waitForOne = 0x10000 // MSG_WAITFORONE
)

// randomPiece is how much getrandom(2) hands out before it looks for a signal.
const randomPiece = 4096

// ShortAtStop returns what a stop does to a system call with these arguments.
func ShortAtStop(nr int64, args [6]uint64) Short {
	switch nr {
	case unix.SYS_READ, unix.SYS_PREAD64:
		return upTo(args[2], 1, ShortOfTerminal)
	case unix.SYS_READV, unix.SYS_PREADV, unix.SYS_PREADV2:
		return ShortOfTerminal
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_SENDTO, unix.SYS_SENDMMSG:
		return upTo(args[2], 1, PerhapsShort)
	case unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2, unix.SYS_SENDMSG:
		return PerhapsShort
	case unix.SYS_RECVFROM:
		return flagged(args[3], waitAll)
	case unix.SYS_RECVMSG:
		return flagged(args[2], waitAll)
	case unix.SYS_RECVMMSG: // behind the first message MSG_WAITFORONE waits for none
		if args[3]&waitForOne != 0 {
			return flagged(args[3], waitAll)
		}
		return upTo(args[2], 1, PerhapsShort)
	case unix.SYS_IO_GETEVENTS, unix.SYS_IO_PGETEVENTS:
		return upTo(args[1], 1, PerhapsShort)
	case unix.SYS_SENDFILE, unix.SYS_SPLICE, unix.SYS_TEE, unix.SYS_VMSPLICE, unix.SYS_COPY_FILE_RANGE:
		return PerhapsShort
	case unix.SYS_GETRANDOM:
		return upTo(args[1], randomPiece, PerhapsShort)
	case unix.SYS_IO_URING_ENTER: // returns what it has submitted, before what it waits for
		return upTo(args[1], 0, PerhapsShort)
	}
	return Whole
}

// OnDescriptor reports whether a call that may return less than it was asked for waits for its first argument alone, a
// descriptor.
func OnDescriptor(nr int64) bool {
	switch nr {
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_SENDTO, unix.SYS_RECVFROM, unix.SYS_SENDMSG, unix.SYS_RECVMSG, unix.SYS_PWRITEV, unix.SYS_RECVMMSG, unix.SYS_SENDMMSG, unix.SYS_PWRITEV2: // the writes, sends and receives of ShortAtStop
		return true
	}
	return false
}

// upTo returns Whole for a call that moves at most most, which it does in one piece, and s otherwise.
func upTo(n, most uint64, s Short) Short {
	if n <= most {
		return Whole
	}
	return s
}

func flagged(flags, flag uint64) Short {
	if flags&flag == 0 {
		return Whole
	}
	return PerhapsShort
}
