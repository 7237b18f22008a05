package procfs

import (
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Mappings finds what is mapped at an address, in the address space that a
// process had when the Mappings was opened. It needs the permission
// PTRACE_MODE_READ.
type Mappings struct {
	p     path
	fd    int
	whole bool // the kernel has no PROCMAP_QUERY (before Linux 6.11)
}

// OpenMappings opens /proc/PID/maps of a process, or of its threads where the
// leader has ended.
func OpenMappings(pid int) (*Mappings, error) {
	tid, err := WithMemory(pid)
	if err != nil {
		return nil, err
	}
	m := &Mappings{p: taskPath(pid, tid, "maps")}
	fd, errno := m.p.open(unix.O_RDONLY)
	if errno != 0 {
		return nil, m.p.fail("open", errno)
	}
	m.fd = fd
	return m, nil
}

// Close is to be called once.
func (m *Mappings) Close() error { return unix.Close(m.fd) }

// mapQuery is struct procmap_query of include/uapi/linux/fs.h.
type mapQuery struct {
	size, flags, addr                   uint64
	start, end, perm, page, off, inode  uint64
	major, minor, nameSize, buildIDSize uint32
	nameAddr, buildIDAddr               uint64
}

// PROCMAP_QUERY, and the flags that are not those of a Perm.
const (
	procmapQuery = 0xc0686611
	queryPerm    = uint64(Read | Write | Exec | Shared)
)

// At returns what is mapped at addr, without its path. ok is false where
// nothing is mapped. The error is ESRCH if the address space is gone.
func (m *Mappings) At(addr uint64) (found Map, ok bool, err error) {
	if m.whole {
		return m.search(addr)
	}
	q := mapQuery{addr: addr}
	q.size = uint64(unsafe.Sizeof(q))
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(m.fd), procmapQuery, uintptr(unsafe.Pointer(&q)))
		switch errno {
		case 0:
			return Map{
				Start: q.start, End: q.end, Off: q.off, Perm: Perm(q.perm & queryPerm),
				Major: q.major, Minor: q.minor, Inode: q.inode,
			}, true, nil
		case unix.EINTR:
		case unix.ENOENT:
			return Map{}, false, nil
		case unix.ENOTTY:
			m.whole = true
			return m.search(addr)
		default:
			return Map{}, false, m.p.fail("ioctl", errno)
		}
	}
}

// Quick reports whether At asks the kernel for one mapping, and need not read all.
func (m *Mappings) Quick() bool {
	if !m.whole {
		m.At(0)
	}
	return !m.whole
}

// search reads all mappings.
func (m *Mappings) search(addr uint64) (found Map, ok bool, err error) {
	text, err := m.readAll()
	if err != nil {
		return Map{}, false, err
	}
	if len(text) == 0 {
		return Map{}, false, m.p.gone()
	}
	all, err := ParseMaps(text)
	if err != nil {
		return Map{}, false, err
	}
	i := slices.IndexFunc(all, func(x Map) bool { return x.Start <= addr && addr < x.End })
	if i < 0 {
		return Map{}, false, nil
	}
	found = all[i]
	found.Path, found.Deleted = "", false
	return found, true, nil
}

func (m *Mappings) readAll() ([]byte, error) {
	buf := make([]byte, 0, 16<<10)
	for {
		buf = slices.Grow(buf, 4096)
		n, err := unix.Pread(m.fd, buf[len(buf):cap(buf)], int64(len(buf)))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, m.p.fail("read", vanished(err.(syscall.Errno)))
		case n == 0:
			return buf, nil
		default:
			buf = buf[:len(buf)+n]
		}
	}
}
