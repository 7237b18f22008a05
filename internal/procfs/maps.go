package procfs

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// Perm is the access a mapping allows.
type Perm uint8

// The bits of a Perm; a mapping without Shared is private (copy on write).
const (
	Read Perm = 1 << iota
	Write
	Exec
	Shared
)

// String returns the kernel's four letters, such as "r-xp".
func (p Perm) String() string {
	b := []byte("---p")
	for i, c := range []byte("rwxs") {
		if p&(1<<i) != 0 {
			b[i] = c
		}
	}
	return string(b)
}

// A Map is one line of /proc/PID/maps: the addresses [Start, End) and what
// is mapped there, from byte Off of the file.
//
// Path is a file's name as seen from the root of its mount namespace, or a
// name of the kernel's in brackets ("[vdso]", "[anon:…]"), or empty. The text
// is ambiguous in two cases. A file that is gone is shown with " (deleted)" after
// its name, and a living file's name may end so. A newline is shown as \012, and
// a name may have a backslash followed by 012. So a caller that opens the file
// has to compare the device and inode, as [Root.OpenMapped] does.
type Map struct {
	Start, End, Off uint64
	Perm            Perm
	Major, Minor    uint32 // device of the file
	Inode           uint64 // 0 where no file is mapped
	Path            string // unescaped, " (deleted)" split off
	Deleted         bool
}

// ParseMaps parses the text of /proc/PID/maps. The order is the kernel's, by
// rising address. Equal paths of neighbouring lines share one string.
func ParseMaps(b []byte) ([]Map, error) {
	maps := make([]Map, 0, bytes.Count(b, []byte{'\n'})+1)
	var raw []byte // the path text of the previous line
	for len(b) > 0 {
		line, rest, _ := bytes.Cut(b, []byte{'\n'})
		b = rest
		m, name, ok := parseMap(line)
		if !ok {
			return nil, malformed("maps line", line)
		}
		if n := len(maps); n > 0 && bytes.Equal(name, raw) {
			m.Path, m.Deleted = maps[n-1].Path, maps[n-1].Deleted
		} else {
			m.Path, m.Deleted = mapName(name, m.Inode)
		}
		raw = name
		maps = append(maps, m)
	}
	return maps, nil
}

// parseMap parses one line up to its path, which it returns as text.
func parseMap(line []byte) (m Map, name []byte, ok bool) {
	s := scanner{text: line}
	span := s.field()
	start, end, _ := bytes.Cut(span, []byte{'-'})
	var okStart, okEnd, okPerm, okDev bool
	m.Start, okStart = parseUint(start, 16)
	m.End, okEnd = parseUint(end, 16)
	m.Perm, okPerm = parsePerm(s.field())
	m.Off = s.uint(16)
	m.Major, m.Minor, okDev = parseDevice(s.field())
	m.Inode = s.uint(10)
	ok = okStart && okEnd && okPerm && okDev && !s.bad && m.Start <= m.End
	return m, bytes.TrimLeft(s.rest(), " "), ok
}

func parsePerm(b []byte) (Perm, bool) {
	if len(b) != 4 {
		return 0, false
	}
	var p Perm
	for i, c := range []byte("rwxs") {
		switch {
		case b[i] == c:
			p |= 1 << i
		case b[i] == '-' && i < 3, b[i] == 'p' && i == 3:
		default:
			return 0, false
		}
	}
	return p, true
}

func parseDevice(b []byte) (major, minor uint32, ok bool) {
	hi, lo, ok := bytes.Cut(b, []byte{':'})
	x, okHi := parseUint(hi, 16)
	y, okLo := parseUint(lo, 16)
	return uint32(x), uint32(y), ok && okHi && okLo && x <= 1<<32-1 && y <= 1<<32-1
}

// DeletedSuffix is what the kernel's d_path appends to the name of a file
// that has been unlinked.
const DeletedSuffix = " (deleted)"

// mapName undoes what show_map_vma does to a path: a newline is written as
// \012, nothing else is escaped.
func mapName(raw []byte, inode uint64) (name string, deleted bool) {
	name = strings.ReplaceAll(string(raw), `\012`, "\n")
	if inode == 0 {
		return name, false
	}
	return strings.CutSuffix(name, DeletedSuffix)
}

// Maps reads /proc/PID/maps. It needs the permission PTRACE_MODE_READ
// (ptrace(2), Ptrace access mode checking). The map of a zombie or of a
// kernel thread is empty. A mapping that changes while the file is read may
// be seen before or after the change; mappings that do not change are all
// there, once.
func Maps(pid int) (maps []Map, err error) {
	err = ReadMaps(pid, func(text []byte) error {
		maps, err = ParseMaps(text)
		return err
	})
	return maps, err
}

// Unprobed reports whether a mapping is text that the kernel plants no uprobes in (valid_vma in kernel/events/uprobes.c).
func (m *Map) Unprobed() bool { return m.Perm&Exec != 0 && m.Perm&(Shared|Write) != 0 }

// ReadMaps calls f with the text of /proc/PID/maps, which is valid until f returns. A caller that keeps a hash of the last text can
// see that nothing has changed without parsing. An unchanged map allocates nothing.
func ReadMaps(pid int, f func(text []byte) error) error {
	buf := texts.get(4096)
	text, err := readShared(pid, "maps", buf)
	if err != nil {
		texts.put(buf)
		return err
	}
	defer texts.put(text)
	return f(text)
}

// texts are the buffers of earlier readings. A sync.Pool loses them to each garbage collection, and texts of megabytes bring about
// the next one.
var texts buffers

type buffers struct {
	mu    sync.Mutex
	free  [][]byte
	bytes int
}

// mostBuffers bounds what is kept.
const mostBuffers = 8 << 20

// get returns an empty buffer with room for so many bytes, the smallest that fits of earlier readings.
func (b *buffers) get(room int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	best := -1
	for i, buf := range b.free {
		if cap(buf) >= room && (best < 0 || cap(buf) < cap(b.free[best])) {
			best = i
		}
	}
	if best < 0 {
		return make([]byte, 0, room)
	}
	buf := b.free[best][:0]
	b.free = slices.Delete(b.free, best, best+1)
	b.bytes -= cap(buf)
	return buf
}

// put takes a buffer that nobody uses any more.
func (b *buffers) put(buf []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cap(buf) > 0 && b.bytes+cap(buf) <= mostBuffers {
		b.free = append(b.free, buf)
		b.bytes += cap(buf)
	}
}
