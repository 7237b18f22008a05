package procfs

import (
	"bytes"
	"os"
	"slices"
	"strconv"
)

// FileName returns what a descriptor of a process is, as in /proc/PID/fd: a path, "pipe:[4711]", "socket:[99]".
func FileName(pid, fd int) (string, error) {
	return os.Readlink("/proc/" + strconv.Itoa(pid) + "/fd/" + strconv.Itoa(fd))
}

// Ends says which processes have which pipe or socket open at one moment. The keys are the names in /proc/PID/fd.
// Processes whose descriptors may not be read are missing.
type Ends map[string][]openEnd

// openEnd is a descriptor of a pipe or a socket.
type openEnd struct {
	pid int
	fd  int
}

// Bounds of what is looked at. A process may have a million descriptors, and any number of processes the same.
const (
	mostDescriptors = 1 << 16 // of one process
	mostOfAll       = 1 << 20
	mostEnds        = 64 // of one pipe or socket in one process
)

// FindEnds looks for pipes and sockets, by their names, among the descriptors of all processes. Each takes a microsecond. Of a
// process with more than 65,536 descriptors it looks at so many, of all processes at a million.
func FindEnds(names map[string]bool) Ends {
	ends := make(Ends)
	all, _ := Processes() // without /proc there are none
	left := mostOfAll
	for _, pid := range all {
		own := min(mostDescriptors, left)
		left -= own
		eachFile(pid, func(fd int, name []byte) bool {
			own--
			if own >= 0 && names[string(name)] {
				if of := ends[string(name)]; len(of) < mostEnds || of[len(of)-mostEnds].pid != pid {
					ends[string(name)] = append(of, openEnd{pid, fd})
				}
			}
			return own > 0
		})
		left += max(own, 0)
	}
	return ends
}

// Holders returns the processes that can write to a pipe, or those that can read from it, each once. The process besides
// is left out, unless it is the only one.
func (e Ends) Holders(name string, writers bool, besides int) []int {
	var pids []int
	own := false
	for _, end := range e[name] {
		switch {
		case slices.Contains(pids, end.pid) || end.pid == besides && own || !end.opens(writers):
		case end.pid == besides:
			own = true
		default:
			pids = append(pids, end.pid)
		}
	}
	if len(pids) == 0 && own {
		return []int{besides}
	}
	return pids
}

// opens reports whether the descriptor is open for writing, or for reading. A socket is open for both.
func (e openEnd) opens(write bool) bool {
	info, err := os.ReadFile("/proc/" + strconv.Itoa(e.pid) + "/fdinfo/" + strconv.Itoa(e.fd))
	return err == nil && opensFor(info, write)
}

// opensFor reports whether a fdinfo is that of a descriptor for writing, or for reading.
func opensFor(info []byte, write bool) bool {
	flags, ok := openFlags(info)
	mode := flags & 3
	return ok && (mode == 2 || write == (mode == 1))
}

// openFlags returns the flags in a fdinfo, where they are in octal.
func openFlags(info []byte) (flags uint64, ok bool) {
	_, rest, ok := bytes.Cut(info, []byte("flags:"))
	if !ok {
		return 0, false
	}
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	flags, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 8, 32)
	return flags, err == nil
}

// NeverWaits reports whether calls on a descriptor of a process return at once where they would have to wait (O_NONBLOCK).
func NeverWaits(pid int, fd uint32) bool {
	const nonBlock = 0x800
	info, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/fdinfo/" + strconv.FormatUint(uint64(fd), 10))
	flags, ok := openFlags(info)
	return err == nil && ok && flags&nonBlock != 0
}
