package procfs

import (
	"bytes"
	"os"
	"strconv"
)

// FileName returns what a descriptor of a process is, as /proc/PID/fd has it: a path, "pipe:[4711]", "socket:[99]".
func FileName(pid, fd int) (string, error) {
	return os.Readlink("/proc/" + strconv.Itoa(pid) + "/fd/" + strconv.Itoa(fd))
}

// PipeEnds returns the processes that have an end of a pipe, which is given by its name in /proc/PID/fd:
// those that can write to it, or those that can read. besides is left out, unless it is the only one. Processes whose descriptors
// may not be read are missing.
func PipeEnds(name string, writers bool, besides int) []int {
	all, err := Processes()
	if err != nil {
		return nil
	}
	var pids []int
	own := false
	for _, pid := range all {
		if !hasEnd(pid, name, writers) {
			continue
		}
		if pid == besides {
			own = true
			continue
		}
		pids = append(pids, pid)
	}
	if len(pids) == 0 && own {
		return []int{besides}
	}
	return pids
}

// hasEnd reports whether a process has the end of a pipe.
func hasEnd(pid int, name string, writer bool) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	d, err := os.Open(dir + "/fd")
	if err != nil {
		return false
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, fd := range names {
		if link, err := os.Readlink(dir + "/fd/" + fd); err != nil || link != name {
			continue
		}
		info, err := os.ReadFile(dir + "/fdinfo/" + fd)
		if err == nil && opensFor(info, writer) {
			return true
		}
	}
	return false
}

// opensFor reports whether the flags in a fdinfo, in octal, are those of a descriptor to write, or to read.
func opensFor(info []byte, write bool) bool {
	_, rest, ok := bytes.Cut(info, []byte("flags:"))
	if !ok {
		return false
	}
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	flags, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 8, 32)
	if err != nil {
		return false
	}
	mode := flags & 3
	return mode == 2 || write == (mode == 1)
}
