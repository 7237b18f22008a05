package procfs

import (
	"encoding/binary"
	"syscall"

	"golang.org/x/sys/unix"
)

// Tasks returns the thread ids of a process, appended to buf[:0]; it
// allocates only when buf is too small. The order is that of creation. A
// thread born while the directory is read may be missing, so whoever needs
// all of them reads again until nobody new appears. The leader stays listed
// as long as any thread lives, even after it has ended itself.
func Tasks(pid int, buf []int) ([]int, error) {
	p := processPath(pid, "task")
	return p.numbers(buf)
}

// Processes returns the ids of all processes that /proc shows.
func Processes() ([]int, error) {
	var p path
	p.finish([]byte("/proc"))
	return p.numbers(nil)
}

// numbers returns the names in a directory that are numbers.
func (p *path) numbers(buf []int) ([]int, error) {
	fd, errno := p.open(unix.O_RDONLY | unix.O_DIRECTORY)
	if errno != 0 {
		return nil, p.fail("open", errno)
	}
	defer unix.Close(fd)
	tids := buf[:0]
	var dir [8192]byte
	for {
		n, err := unix.Getdents(fd, dir[:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, p.fail("readdir", vanished(err.(syscall.Errno)))
		case n <= 0:
			if len(tids) == 0 {
				return nil, p.gone()
			}
			return tids, nil
		default:
			tids = appendTasks(tids, dir[:n])
		}
	}
}

// appendTasks adds the numeric names of a buffer of struct linux_dirent64:
// inode (8 bytes), offset (8), record length (2), type (1), name.
func appendTasks(tids []int, dir []byte) []int {
	const header = 19
	for len(dir) >= header {
		size := int(binary.NativeEndian.Uint16(dir[16:]))
		if size < header || size > len(dir) {
			break
		}
		name := dir[header:size]
		tid := 0
		for i := 0; i < len(name) && name[i] >= '0' && name[i] <= '9'; i++ {
			tid = tid*10 + int(name[i]-'0')
		}
		if tid != 0 { // "." and ".." are no numbers
			tids = append(tids, tid)
		}
		dir = dir[size:]
	}
	return tids
}
