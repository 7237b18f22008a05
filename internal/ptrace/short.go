package ptrace

// Short says what a stop does, beyond EINTR, to a system call that a thread sleeps in. A call
// that has moved something already returns that much, less than it was asked for, whatever
// interrupts it. A thread cannot be moved back to make the rest: it would have to be stopped
// once more to be given the sum. If the tracer died before that, the program would send data
// twice, or miss data that it has received.
type Short uint8

const (
	// Whole: a stop does not shorten the result.
	Whole Short = iota
	// PerhapsShort: the call may return less than it was asked for.
	PerhapsShort
	// ShortOfTerminal: the same, but only if the first argument is a terminal, in raw mode with VMIN.
	ShortOfTerminal
)

var shortNames = [...]string{"whole", "perhaps short", "short of a terminal"}

func (s Short) String() string { return shortNames[s] }

// Flags of recvfrom(2), recvmsg(2) and recvmmsg(2).
const (
	waitAll    = 0x100   // MSG_WAITALL
	waitForOne = 0x10000 // MSG_WAITFORONE
)

// randomPiece is how much getrandom(2) hands out before it looks for a signal.
const randomPiece = 4096

// ShortAtStop returns what a stop does to a system call of x86-64 with these arguments.
func ShortAtStop(nr int64, args [6]uint64) Short {
	switch nr {
	case 0, 17: // read, pread64
		return upTo(args[2], 1, ShortOfTerminal)
	case 19, 295, 327: // readv, preadv, preadv2
		return ShortOfTerminal
	case 1, 18, 44, 307: // write, pwrite64, sendto, sendmmsg
		return upTo(args[2], 1, PerhapsShort)
	case 20, 296, 328, 46: // writev, pwritev, pwritev2, sendmsg
		return PerhapsShort
	case 45: // recvfrom
		return flagged(args[3], waitAll)
	case 47: // recvmsg
		return flagged(args[2], waitAll)
	case 299: // recvmmsg; behind the first message MSG_WAITFORONE waits for none
		if args[3]&waitForOne != 0 {
			return flagged(args[3], waitAll)
		}
		return upTo(args[2], 1, PerhapsShort)
	case 208, 333: // io_getevents, io_pgetevents
		return upTo(args[1], 1, PerhapsShort)
	case 40, 275, 276, 278, 326: // sendfile, splice, tee, vmsplice, copy_file_range
		return PerhapsShort
	case 318: // getrandom
		return upTo(args[1], randomPiece, PerhapsShort)
	case 426: // io_uring_enter: returns what it has submitted, before what it waits for
		return upTo(args[1], 0, PerhapsShort)
	}
	return Whole
}

// OnDescriptor reports whether a call that may return less than it was asked for waits for its first argument alone, a
// descriptor.
func OnDescriptor(nr int64) bool {
	switch nr {
	case 1, 18, 20, 44, 45, 46, 47, 296, 299, 307, 328: // the writes, sends and receives of ShortAtStop
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
