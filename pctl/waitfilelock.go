package pctl

import (
	"encoding/binary"
	"fmt"
	"math"

	"ptools/internal/procfs"
)

// FileLock is a lock of a file that a thread waits for.
type FileLock struct {
	Kind     string // "flock" (flock(2)), "fcntl" (of a process) or "OFD" (of an opened file)
	Write    bool   // exclusive; otherwise shared
	From, To uint64 // bytes, To included; math.MaxUint64: to the end. Of flock always all
	// Holders are processes that had locks in its way when this was asked. Why says why there are none.
	Holders []Peer
	Others  int // locks in its way that are not among those of Holders: these are 64 at most
	Why     string
}

// mostLooked is how many descriptors of other processes are looked at for the holders of all locks.
const mostLooked = 1 << 17

// String returns "shared flock lock" or "exclusive fcntl lock on bytes 0 to 99".
func (l FileLock) String() string {
	s := "shared " + l.Kind + " lock"
	if l.Write {
		s = "exclusive " + l.Kind + " lock"
	}
	switch {
	case l.To != math.MaxUint64:
		s += fmt.Sprintf(" on bytes %d to %d", l.From, l.To)
	case l.From > 0:
		s += fmt.Sprintf(" on the bytes from %d on", l.From)
	}
	return s
}

// held returns what follows the file.
func (l FileLock) held() string {
	if len(l.Holders) == 0 {
		return ", holder unknown (" + l.Why + ")"
	}
	s := ", held by pid "
	for i, p := range l.Holders {
		if i > 0 {
			s += ", pid "
		}
		s += named(p.PID, p.Name)
	}
	return s + others(l.Others)
}

// The kinds of locks in /proc/locks, and their names here.
var lockKinds = map[string]string{"FLOCK": "flock", "POSIX": "fcntl", "OFDLCK": "OFD"}

func tellFlock(a *asked) {
	const exclusive = 2 // LOCK_EX
	a.tellFileLock(procfs.Locked{Kind: "FLOCK", Write: a.args[1]&exclusive != 0, To: math.MaxUint64})
}

// Commands of fcntl(2) that wait, and what else its man page has.
const (
	setLockWait    = 7  // F_SETLKW
	setOFDLockWait = 38 // F_OFD_SETLKW
	writeLock      = 1  // F_WRLCK
	sizeofFlock    = 32 // struct flock
)

func fcntlMemory(args [6]uint64) []piece { return []piece{{args[2], sizeofFlock}} }

func tellFcntl(a *asked) {
	want := procfs.Locked{Kind: "POSIX", To: math.MaxUint64}
	switch a.args[1] {
	case setLockWait:
	case setOFDLockWait:
		want.Kind = "OFDLCK"
	default:
		return // the others do not wait
	}
	if b := a.memory(a.args[2], sizeofFlock); len(b) == sizeofFlock {
		want.Write = binary.LittleEndian.Uint16(b) == writeLock
		from, length := int64(binary.LittleEndian.Uint64(b[8:])), int64(binary.LittleEndian.Uint64(b[16:]))
		if whence := binary.LittleEndian.Uint16(b[2:]); whence == 0 && from >= 0 { // others count from where the file stands
			switch {
			case length > 0:
				want.From, want.To = uint64(from), uint64(from+length-1)
			case length < 0 && from+length >= 0:
				want.From, want.To = uint64(from+length), uint64(from-1)
			default:
				want.From = uint64(from)
			}
		}
	}
	a.tellFileLock(want)
}

// tellFileLock finds the processes that a lock has to wait for.
func (a *asked) tellFileLock(want procfs.Locked) {
	a.Kind = WaitFileLock
	a.openFile(&a.File, a.int(0), want.Write, 0)
	l := &a.FileLock
	*l = FileLock{Kind: lockKinds[want.Kind], Write: want.Write, From: want.From, To: want.To}
	if a.locks == nil {
		a.locks, a.looked = procfs.FileLocks(), mostLooked
		a.holders = make(map[procfs.Locked][]Peer)
		a.mounts = procfs.ReadMounts(a.p.PID())
	}
	file, ok := a.mounts.FileID(a.p.PID(), a.int(0))
	if !ok {
		l.Why = "the kernel does not tell which file it is"
		return
	}
	want.Major, want.Minor, want.Inode = file.Major, file.Minor, file.Inode
	for _, held := range a.locks {
		if !held.Excludes(want) {
			continue
		}
		if len(l.Holders) >= mostPeers {
			l.Others++
			continue
		}
		l.Holders = append(l.Holders, a.lockHolders(held)...)
	}
	if n := len(l.Holders) - mostPeers; n > 0 {
		l.Holders, l.Others = l.Holders[:mostPeers], l.Others+n
	}
	if len(l.Holders) == 0 {
		l.Why = "/proc/locks has none in its way"
	}
}

// lockHolders returns the processes that have a lock. A lock of flock and one of an opened file belong to all that have that
// file open, as a child does.
func (q *inquiry) lockHolders(held procfs.Locked) []Peer {
	peers, ok := q.holders[held]
	if !ok {
		if held.Kind != "POSIX" {
			peers, _ = peersOf(procfs.LockHolders(held, &q.looked))
		}
		if len(peers) == 0 && held.PID > 0 {
			peers, _ = peersOf([]int{held.PID})
		}
		q.holders[held] = peers
	}
	return peers
}
