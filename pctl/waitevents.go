package pctl

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"ptools/internal/procfs"
)

// Polled is what a thread in poll, select, epoll_wait and the like waits for.
type Polled struct {
	Of string // "epoll fd 7", "io_uring fd 7" or empty
	// Files are the descriptors, no more than 16 of them. Total is how many there are, as far as that is known.
	Files []OpenFile
	Total int
}

const (
	mostFiles = 16   // that are described
	mostPolls = 4096 // entries of a poll that are read
	mostBits  = 8192 // of a set of select
)

// String returns "events of epoll fd 7 at 3 descriptors".
func (e Polled) String() string {
	s := "events"
	if e.Of != "" {
		s += " of " + e.Of
	}
	if e.Total == 1 {
		s += " at 1 descriptor"
	} else if e.Total > 1 {
		s += " at " + strconv.Itoa(e.Total) + " descriptors"
	}
	return s
}

// Bits of poll and epoll.
const (
	pollIn  = 1
	pollOut = 4
)

// watched is a descriptor that is waited for.
type watched struct {
	fd    int
	write bool   // and not to read
	inode uint64 // 0: not known
}

// watch describes the descriptors of an event wait. Wait.Polled keeps its place, since peers are filled in later.
func (a *asked) watch(of string, all []watched) {
	a.Kind, a.Polled.Of, a.Polled.Total = WaitEvents, of, len(all)
	a.Polled.Files = make([]OpenFile, 0, min(len(all), mostFiles))
	for _, w := range all[:min(len(all), mostFiles)] {
		a.Polled.Files = append(a.Polled.Files, OpenFile{})
		a.openFile(&a.Polled.Files[len(a.Polled.Files)-1], w.fd, w.write, w.inode)
	}
}

// setTimeout reads the limit of a wait from an argument in milliseconds or one that points to a struct timespec; -1: there is
// no such argument.
func (a *asked) setTimeout(millis, spec int) {
	if millis >= 0 {
		if ms := int32(a.args[millis]); ms > 0 {
			a.Time.Timeout = time.Duration(ms) * time.Millisecond
		}
	}
	if spec >= 0 {
		a.Time.Timeout, _ = timespec(a.memory(a.args[spec], 16))
	}
}

func timespec(b []byte) (time.Duration, bool) {
	if len(b) < 16 {
		return 0, false
	}
	sec, nsec := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	if sec > 1<<32 || nsec >= 1e9 {
		return 0, false
	}
	return time.Duration(sec)*time.Second + time.Duration(nsec), true
}

// timeAt is the memory of a call one of whose arguments points to a struct timespec.
func timeAt(arg int) func([6]uint64) []piece {
	return func(args [6]uint64) []piece { return []piece{{args[arg], 16}} }
}

func tellPoll(millis, spec int) func(*asked) {
	return func(a *asked) {
		var all []watched
		for b := a.memory(a.args[0], 8*int(min(a.args[1], mostPolls))); len(b) >= 8; b = b[8:] {
			events := binary.LittleEndian.Uint16(b[4:])
			if fd := int(int32(binary.LittleEndian.Uint32(b))); fd >= 0 {
				all = append(all, watched{fd: fd, write: events&pollIn == 0 && events&pollOut != 0})
			}
		}
		a.watch("", all)
		a.setTimeout(millis, spec)
	}
}

func pollMemory(spec int) func([6]uint64) []piece {
	return func(args [6]uint64) []piece {
		pieces := []piece{{args[0], 8 * int(min(args[1], mostPolls))}}
		if spec >= 0 {
			pieces = append(pieces, piece{args[spec], 16})
		}
		return pieces
	}
}

// sets are the bytes of each set of a select.
func sets(args [6]uint64) int { return (int(min(args[0], mostBits)) + 63) / 64 * 8 }

func selectMemory(args [6]uint64) []piece {
	size := sets(args)
	return []piece{{args[1], size}, {args[2], size}, {args[3], size}, {args[4], 16}}
}

// tellSelect is for select, whose limit is a struct timeval, and pselect6. Both write what is left of it when they are
// interrupted.
func tellSelect(a *asked) {
	type wants struct{ read, write bool }
	want := make(map[int]wants)
	for i, addr := range a.args[1:4] {
		if addr == 0 {
			continue
		}
		for at, b := 0, a.memory(addr, sets(a.args)); len(b) >= 8; at, b = at+64, b[8:] {
			for set := binary.LittleEndian.Uint64(b); set != 0; set &= set - 1 {
				fd := at + bits.TrailingZeros64(set)
				w := want[fd]
				w.read, w.write = w.read || i != 1, w.write || i == 1
				want[fd] = w
			}
		}
	}
	var all []watched
	for fd := 0; fd < int(min(a.args[0], mostBits)) && len(want) > 0; fd++ {
		if w, ok := want[fd]; ok {
			all = append(all, watched{fd: fd, write: !w.read})
		}
	}
	a.watch("", all)
	b := a.memory(a.args[4], 16)
	if name, _ := a.t.Syscall(); name == "select" && len(b) == 16 {
		b = append([]byte(nil), b...)
		binary.LittleEndian.PutUint64(b[8:], binary.LittleEndian.Uint64(b[8:])*1000) // µs
	}
	a.Time.Timeout, _ = timespec(b)
}

func tellEpoll(millis, spec int) func(*asked) {
	return func(a *asked) {
		a.watch(fmt.Sprintf("epoll fd %d", a.int(0)), a.epoll(a.int(0)))
		a.setTimeout(millis, spec)
	}
}

// mostWatched bounds the descriptors of all epolls that are kept. An epoll beyond it has only a number.
const mostWatched = 1 << 20

// epoll returns what an epoll descriptor watches.
func (q *inquiry) epoll(fd int) []watched {
	all, ok := q.epolls[fd]
	if ok {
		return all
	}
	kept := 0
	for _, e := range q.epolls {
		kept += len(e)
	}
	if kept < mostWatched {
		info, _ := procfs.ReadFD(q.p.PID(), fd) // without it no descriptor is known
		for _, p := range info.Polled {
			all = append(all, watched{p.FD, p.Events&pollIn == 0 && p.Events&pollOut != 0, p.Inode})
		}
		slices.SortFunc(all, func(v, w watched) int { return v.fd - w.fd })
	}
	if q.epolls == nil {
		q.epolls = make(map[int][]watched)
	}
	q.epolls[fd] = all
	return all
}

func tellRing(a *asked) { a.watch(fmt.Sprintf("io_uring fd %d", a.int(0)), nil) }

func tellAIO(a *asked) {
	a.watch("asynchronous input and output", nil)
	a.setTimeout(-1, 4)
}

// moves is for the calls that move data from one descriptor to another, and wait for either.
func moves(from, to int) func(*asked) {
	return func(a *asked) { a.watch("", []watched{{fd: a.int(from)}, {fd: a.int(to), write: true}}) }
}

// is reports whether a name of /proc/PID/fd can be that of a file with an inode. Only sockets and pipes show theirs.
func (w watched) is(name string) bool {
	_, number, ok := strings.Cut(name, ":[")
	inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
	return w.inode == 0 || !ok || err != nil || inode == w.inode
}
