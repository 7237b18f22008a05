package procfs

import "strconv"

// A path is the NUL-terminated name of a file under /proc, built in place so
// that opening it allocates nothing.
type path struct {
	buf [64]byte
	n   int
}

// processPath names /proc/PID/file.
func processPath(pid int, file string) path {
	var p path
	b := append(p.buf[:0], "/proc/"...)
	b = strconv.AppendInt(b, int64(pid), 10)
	b = append(b, '/')
	p.finish(append(b, file...))
	return p
}

// taskPath names /proc/PID/task/TID/file.
func taskPath(pid, tid int, file string) path {
	var p path
	b := append(p.buf[:0], "/proc/"...)
	b = strconv.AppendInt(b, int64(pid), 10)
	b = append(b, "/task/"...)
	b = strconv.AppendInt(b, int64(tid), 10)
	b = append(b, '/')
	p.finish(append(b, file...))
	return p
}

// finish records the length of b, which was appended to p.buf in place: the
// longest name ("/proc/" and "/task/" with two 20-digit numbers and a short
// file) leaves room for the final NUL.
func (p *path) finish(b []byte) {
	p.n = copy(p.buf[:len(p.buf)-1], b)
	p.buf[p.n] = 0
}

// parsed reads a file and parses it.
func parsed[T any](p path, parse func([]byte) (T, error)) (v T, err error) {
	b, err := p.read(nil)
	if err != nil {
		return v, err
	}
	return parse(b)
}

func (p *path) String() string { return string(p.buf[:p.n]) }
