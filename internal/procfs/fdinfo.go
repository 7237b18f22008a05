package procfs

import (
	"bytes"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

// FDInfo is what /proc/PID/fdinfo tells of a descriptor.
type FDInfo struct {
	Mount  int      // id of the mount, as in /proc/PID/mountinfo
	Inode  uint64   // 0: the kernel (before Linux 5.14) does not tell
	Locks  []Locked // that are held through this opened file
	Polled []Polled // what an epoll descriptor watches
	PID    int      // of a pidfd: the process, 0 or less if it has ended or has no number here
}

// Polled is a descriptor that an epoll descriptor watches.
type Polled struct {
	FD     int // its number when it was added
	Events uint32
	Inode  uint64 // 0: not told
}

// Locked is a lock of a file that is held, a line of /proc/locks.
type Locked struct {
	Kind         string // "FLOCK", "POSIX" or "OFDLCK"
	Write        bool
	PID          int // the process that took it; not above 0 if it has no number here, or if the opened file has the lock
	Major, Minor uint32
	Inode        uint64
	From, To     uint64 // bytes, To included; math.MaxUint64: to the end
}

// Bounds of what is read of files of /proc that a process can make as long as it likes. Further lines are not known.
const (
	mostFDInfo    = 4 << 20 // of a descriptor: 60,000 that an epoll watches
	mostMountInfo = 4 << 20
	mostLocks     = 8 << 20 // of /proc/locks: 150,000
)

// readUpTo reads the first most bytes of a file of /proc.
func readUpTo(name string, most int64) (string, error) {
	f, err := os.Open("/proc/" + name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most))
	return string(text), err
}

// ReadFD reads /proc/PID/fdinfo/FD, up to 4 MiB of it.
func ReadFD(pid, fd int) (FDInfo, error) {
	text, err := readUpTo(strconv.Itoa(pid)+"/fdinfo/"+strconv.Itoa(fd), mostFDInfo)
	if err != nil {
		return FDInfo{}, err
	}
	return parseFDInfo(text), nil
}

func parseFDInfo(text string) (info FDInfo) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "mnt_id":
			info.Mount, _ = strconv.Atoi(value)
		case "ino":
			info.Inode, _ = strconv.ParseUint(value, 10, 64)
		case "Pid":
			info.PID, _ = strconv.Atoi(value)
		case "lock":
			if l, ok := parseLock(value); ok {
				info.Locks = append(info.Locks, l)
			}
		case "tfd":
			if p, ok := parsePolled(value); ok {
				info.Polled = append(info.Polled, p)
			}
		}
	}
	return info
}

// parsePolled parses "5 events:       19 data:        5  pos:0 ino:2a sdev:8", numbers other than the first in
// hexadecimal (ep_show_fdinfo in fs/eventpoll.c).
func parsePolled(text string) (p Polled, ok bool) {
	words := strings.Fields(strings.ReplaceAll(text, ":", ": "))
	if len(words) < 3 || words[1] != "events:" {
		return Polled{}, false
	}
	fd, err := strconv.Atoi(words[0])
	events, err2 := strconv.ParseUint(words[2], 16, 32)
	for i, w := range words[:len(words)-1] {
		if w == "ino:" {
			p.Inode, _ = strconv.ParseUint(words[i+1], 16, 64)
		}
	}
	p.FD, p.Events = fd, uint32(events)
	return p, err == nil && err2 == nil
}

// parseLock parses what follows the number of a lock that is held: "1: POSIX  ADVISORY  WRITE 3568 fd:00:2531452 0 EOF"
// (lock_get_status in fs/locks.c).
func parseLock(text string) (l Locked, ok bool) {
	words := strings.Fields(text)
	if len(words) != 8 {
		return Locked{}, false
	}
	l.Kind, l.Write = words[1], words[3] == "WRITE"
	device := strings.Split(words[5], ":")
	if len(device) != 3 {
		return Locked{}, false
	}
	var errs [5]error
	var major, minor uint64
	l.PID, errs[0] = strconv.Atoi(words[4])
	major, errs[1] = strconv.ParseUint(device[0], 16, 32)
	minor, errs[2] = strconv.ParseUint(device[1], 16, 32)
	l.Inode, errs[3] = strconv.ParseUint(device[2], 10, 64)
	l.From, errs[4] = strconv.ParseUint(words[6], 10, 64)
	l.Major, l.Minor, l.To = uint32(major), uint32(minor), math.MaxUint64
	if words[7] != "EOF" {
		to, err := strconv.ParseUint(words[7], 10, 64)
		if err != nil {
			return Locked{}, false
		}
		l.To = to
	}
	return l, errs == [5]error{}
}

// FileLocks returns the locks of files that processes hold, up to 8 MiB of /proc/locks. Locks of processes that have no number
// in our PID namespace are missing.
func FileLocks() (locks []Locked) {
	text, _ := readUpTo("locks", mostLocks) // without it no holder is known
	for line := range strings.Lines(text) {
		if l, ok := parseLock(line); ok { // a line of a lock that is waited for has one word more
			locks = append(locks, l)
		}
	}
	return locks
}

// LockHolders returns the processes that have an opened file open through which a lock like l is held, each once. It takes one
// from left for each descriptor that it looks at, and returns those that it has found when nothing is left.
func LockHolders(l Locked, left *int) (pids []int) {
	all, _ := Processes() // without /proc there are none
	for _, pid := range all {
		found := false
		eachFile(pid, func(fd int, name []byte) bool {
			if *left--; *left < 0 {
				return false
			}
			if !bytes.HasPrefix(name, []byte("/")) {
				return true
			}
			info, _ := ReadFD(pid, fd) // it may be closed by now
			for _, held := range info.Locks {
				found = found || held.Kind == l.Kind && held.sameFile(l) && held.From == l.From
			}
			return !found
		})
		if found {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (l Locked) sameFile(o Locked) bool {
	return l.Inode == o.Inode && l.Major == o.Major && l.Minor == o.Minor
}

// Excludes reports whether a process that wants the lock o has to wait for the one that holds l.
func (l Locked) Excludes(o Locked) bool {
	alike := l.Kind == o.Kind || l.Kind != "FLOCK" && o.Kind != "FLOCK"
	return alike && l.sameFile(o) && (l.Write || o.Write) && l.From <= o.To && o.From <= l.To
}

// Mounts are the devices of a process's mounts by their ids, as /proc/locks has them.
type Mounts map[int][2]uint32

// ReadMounts reads /proc/PID/mountinfo, up to 4 MiB of it.
func ReadMounts(pid int) Mounts {
	mounts := make(Mounts)
	text, _ := readUpTo(strconv.Itoa(pid)+"/mountinfo", mostMountInfo) // without it no device is known
	for line := range strings.Lines(text) {
		id, rest, _ := strings.Cut(line, " ")
		_, rest, _ = strings.Cut(rest, " ") // the parent
		device, _, _ := strings.Cut(rest, " ")
		major, minor, _ := strings.Cut(device, ":")
		n, err := strconv.Atoi(id)
		a, err1 := strconv.ParseUint(major, 10, 32)
		b, err2 := strconv.ParseUint(minor, 10, 32)
		if err == nil && err1 == nil && err2 == nil {
			mounts[n] = [2]uint32{uint32(a), uint32(b)}
		}
	}
	return mounts
}

// FileID returns the device and the inode of an opened file, as /proc/locks has them: those of its super block, which stat(2)
// may not show. ok is false if the kernel does not tell.
func (m Mounts) FileID(pid, fd int) (id Locked, ok bool) {
	info, err := ReadFD(pid, fd)
	if err != nil || info.Inode == 0 {
		return Locked{}, false
	}
	device, ok := m[info.Mount]
	return Locked{Major: device[0], Minor: device[1], Inode: info.Inode}, ok
}
