package procfs

import (
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Bounds of walk: the kernel's own bound for links, and how many descriptors a path may cost.
const (
	maxLinks = 40
	maxDepth = 256
)

// walk is openat2(2) with RESOLVE_IN_ROOT and O_PATH, for processes that may not make that call. Filters cannot see
// the flags of openat2, so systemd's RestrictSUIDSGID and older profiles of containers refuse it altogether.
// walk follows links by their text, also those of /proc. It goes down one name at a time and keeps a descriptor of each
// directory. So ".." needs no name, and stops at the root.
func walk(root int, name string) (int, error) {
	fail := func(errno error) (int, error) { return -1, &fs.PathError{Op: "open", Path: name, Err: errno} }
	var below []int // what the names so far stand for
	up := func(n int) {
		for _, fd := range below[n:] {
			unix.Close(fd)
		}
		below = below[:n]
	}
	defer func() { up(0) }()
	links := 0
	for rest := strings.Split(name, "/"); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			up(max(0, len(below)-1))
			continue
		case len(below) == maxDepth:
			return fail(unix.ENAMETOOLONG)
		}
		dir := root
		if len(below) > 0 {
			dir = below[len(below)-1]
		}
		fd, link, err := step(dir, part)
		if err != nil {
			return fail(err)
		}
		if fd >= 0 {
			below = append(below, fd)
			continue
		}
		if links++; links > maxLinks {
			return fail(unix.ELOOP)
		}
		if strings.HasPrefix(link, "/") {
			up(0)
		}
		rest = append(strings.Split(link, "/"), rest...)
	}
	if len(below) == 0 {
		return fail(unix.EISDIR) // the root itself, which is not read
	}
	fd := below[len(below)-1]
	below = below[:len(below)-1]
	return fd, nil
}

// step returns an O_PATH descriptor of a name in a directory. If the name is a link it returns -1 and the link's text.
func step(dir int, name string) (int, string, error) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, "", err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		if err != nil {
			unix.Close(fd)
			fd = -1
		}
		return fd, "", err
	}
	defer unix.Close(fd)
	var text [unix.PathMax]byte
	n, err := unix.Readlinkat(fd, "", text[:])
	if err == nil && n == 0 {
		err = os.ErrNotExist
	}
	return -1, string(text[:max(0, n)]), err
}
