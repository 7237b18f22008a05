package procfs

import (
	"encoding/binary"
	"syscall"

	"golang.org/x/sys/unix"
)

// Tasks returns the TIDs of the threads of a process, appended to buf[:0]. It
// allocates only when buf is too small. The order is that of creation. A
// thread that is born while the directory is read may be missing. So a caller that
// needs all threads reads again until no new one appears. The leader stays listed
// as long as any thread lives, even after it has ended itself.
func Tasks(pid int, buf []int) ([]int, error) {
	p := processPath(pid, "task")
	return p.numbers(buf)
}

// Processes returns the PIDs of all processes that /proc shows.
func Processes() ([]int, error) {
	var p path
	p.finish([]byte("/proc"))
	return p.numbers(nil)
}

// A Listed is a process as the directory /proc lists it.
type Listed struct {
	PID int
	// Inode is the inode of its directory. Another process of the same number has another inode. It can also change for
	// the same process, when the kernel is short of memory.
	Inode uint64
}

// List returns the processes that /proc shows, appended to buf[:0].
func List(buf []Listed) ([]Listed, error) {
	var p path
	p.finish([]byte("/proc"))
	list := buf[:0]
	err := p.entries(func(pid int, inode uint64) { list = append(list, Listed{pid, inode}) })
	return list, err
}

// numbers returns the names in a directory that are numbers.
func (p *path) numbers(buf []int) ([]int, error) {
	tids := buf[:0]
	if err := p.entries(func(tid int, _ uint64) { tids = append(tids, tid) }); err != nil {
		return nil, err
	}
	if len(tids) == 0 {
		return nil, p.gone()
	}
	return tids, nil
}

// entries calls f for the names in a directory that are numbers.
func (p *path) entries(f func(number int, inode uint64)) error {
	fd, errno := p.open(unix.O_RDONLY | unix.O_DIRECTORY)
	if errno != 0 {
		return p.fail("open", errno)
	}
	defer unix.Close(fd)
	var dir [8192]byte
	for {
		n, err := unix.Getdents(fd, dir[:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return p.fail("readdir", vanished(err.(syscall.Errno)))
		case n <= 0:
			return nil
		default:
			eachNumber(dir[:n], f)
		}
	}
}

// eachNumber calls f for the names of a buffer of struct linux_dirent64 that are numbers.
func eachNumber(dir []byte, f func(number int, inode uint64)) {
	eachName(dir, func(name []byte, inode uint64) {
		if number, ok := digits(name); ok {
			f(number, inode)
		}
	})
}

// eachName calls f for the names, with the NULs behind them, of a buffer of struct linux_dirent64:
// inode (8 bytes), offset (8), record length (2), type (1), name.
func eachName(dir []byte, f func(name []byte, inode uint64)) {
	const header = 19
	for len(dir) >= header {
		size := int(binary.NativeEndian.Uint16(dir[16:]))
		if size < header || size > len(dir) {
			break
		}
		f(dir[header:size], binary.NativeEndian.Uint64(dir))
		dir = dir[size:]
	}
}
