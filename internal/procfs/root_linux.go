package procfs

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Root opens files as a process sees them: inside its root directory and
// mount namespace, whatever ours are. No name, symbolic link or ".." leads
// out of it, and nothing but regular files is ever opened, so a name that
// the target chose can neither reach our files nor make us open a device or
// wait for a fifo. Safe for concurrent use.
type Root struct {
	pid int

	mu     sync.Mutex
	fd     int // O_PATH descriptor of /proc/PID/root; -1 when closed
	users  int // of fd: a file system may keep a user waiting for ever, and Close does not wait
	closed bool
}

// OpenRoot binds to the present root directory of the process. It needs the
// permission PTRACE_MODE_READ.
func OpenRoot(pid int) (*Root, error) {
	p := processPath(pid, "root")
	fd, errno := p.open(unix.O_PATH | unix.O_DIRECTORY)
	if errno == unix.ESRCH {
		viaThread(pid, func(tid int) bool {
			t := taskPath(pid, tid, "root")
			fd, errno = t.open(unix.O_PATH | unix.O_DIRECTORY)
			return errno == 0
		})
	}
	if errno != 0 {
		return nil, p.fail("open", errno)
	}
	return &Root{pid: pid, fd: fd}, nil
}

// Close closes the Root; files it has opened stay open. It is idempotent.
func (r *Root) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.closeUnused()
	return nil
}

// closeUnused closes the descriptor if the Root is closed and not in use. r.mu is held.
func (r *Root) closeUnused() {
	if r.closed && r.users == 0 && r.fd >= 0 {
		unix.Close(r.fd)
		r.fd = -1
	}
}

// use returns the descriptor, or -1 if the Root is closed, and a function to call when the descriptor is not used any
// more.
func (r *Root) use() (fd int, done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return -1, func() {}
	}
	r.users++
	return r.fd, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.users--
		r.closeUnused()
	}
}

// Ours reports whether the root is this process's own root directory, in the
// same mount namespace: a directory of the same mount, since a namespace has
// its own mounts even of the same file systems.
func (r *Root) Ours() bool {
	fd, done := r.use()
	defer done()
	const mask = unix.STATX_INO | unix.STATX_MNT_ID
	var theirs, ours unix.Statx_t
	return fd >= 0 && unix.Statx(fd, "", unix.AT_EMPTY_PATH, mask, &theirs) == nil &&
		unix.Statx(unix.AT_FDCWD, "/", 0, mask, &ours) == nil &&
		theirs.Mask&mask == mask && theirs.Mnt_id == ours.Mnt_id && theirs.Ino == ours.Ino
}

// Open opens a regular file for reading. A relative name starts at the root.
func (r *Root) Open(name string) (*os.File, error) {
	fd, err := r.look(name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return reopen(fd, &st, name)
}

// IsPipe reports whether a name is that of a fifo. It opens nothing.
func (r *Root) IsPipe(name string) bool {
	fd, err := r.look(name)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}

// look returns an O_PATH descriptor of the named file. It allows nothing but to
// look at the file's attributes.
func (r *Root) look(name string) (int, error) {
	fd, done := r.use()
	defer done()
	if fd < 0 {
		return -1, &fs.PathError{Op: "open", Path: name, Err: os.ErrClosed}
	}
	return lookAt(fd, name)
}

// lookAt is look with dirfd as the root directory.
func lookAt(dirfd int, name string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(dirfd, name, &how)
		switch err {
		case nil:
			return fd, nil
		case unix.EINTR, unix.EAGAIN: // EAGAIN: a rename or mount raced with a ".." (openat2(2))
		case unix.ENOSYS, unix.EPERM:
			return walk(dirfd, name)
		default:
			return -1, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}

// reopen turns an O_PATH descriptor of a regular file into one for reading.
func reopen(fd int, st *unix.Stat_t, name string) (*os.File, error) {
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	self := "/proc/self/fd/" + strconv.Itoa(fd)
	n, err := unix.Open(self, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	// Go's poller accepts a non-blocking file of a FUSE file system, which has a poll of its own. Closing such a
	// file would wait for the reads under way.
	if err := unix.SetNonblock(n, false); err != nil {
		unix.Close(n)
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(n), name), nil
}

var errNotRegular = errors.New("not a regular file")

// OpenMapped opens the very file that is mapped at m, also when it has been
// deleted or replaced, was mapped before a chroot, or has no name at all
// (memfd). It tries, in this order:
//   - the name, accepting a file with the mapping's device and inode;
//   - /proc/PID/map_files, which needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN;
//   - /proc/PID/exe, for the executed program;
//   - the name once more, accepting the inode alone, because btrfs and overlayfs
//     show another device in maps than in stat(2).
//
// fs.ErrNotExist means that no file is mapped there. fs.ErrPermission means that the
// file is gone and map_files may not be used. If a lack of descriptors or memory has
// kept any of these from being tried, that is the error.
func (r *Root) OpenMapped(m Map) (*os.File, error) {
	if m.Inode == 0 {
		return nil, &fs.PathError{Op: "open", Path: m.Path, Err: fs.ErrNotExist}
	}
	sameFile := func(st *unix.Stat_t) bool {
		return st.Ino == m.Inode && st.Dev == unix.Mkdev(m.Major, m.Minor)
	}
	f, lack := r.openNamed(m, sameFile)
	if f != nil {
		return f, nil
	}
	dir := "/proc/" + strconv.Itoa(r.pid)
	f, err := openLink(dir+"/map_files/"+strconv.FormatUint(m.Start, 16)+"-"+strconv.FormatUint(m.End, 16), m)
	if err == nil {
		return f, nil
	}
	if f, err := openLink(dir+"/exe", m); err == nil {
		return f, nil
	}
	sameInode := func(st *unix.Stat_t) bool { return st.Ino == m.Inode }
	f, again := r.openNamed(m, sameInode)
	switch {
	case f != nil:
		return f, nil
	case lack != nil:
		return nil, lack
	case again != nil:
		return nil, again
	}
	return nil, err
}

// lacking returns err if it means a lack of descriptors or memory, and nil otherwise.
func lacking(err error) error {
	if Lacking(err) {
		return err
	}
	return nil
}

// openNamed tries the names that the mapping's path may stand for, in the
// target's root and then in ours: maps shows a path relative to the reader's
// root where that is above the target's. If no name leads to an accepted file it returns
// neither file nor error, or the error if descriptors or memory were lacking.
func (r *Root) openNamed(m Map, accept func(*unix.Stat_t) bool) (*os.File, error) {
	names := []string{m.Path}
	if m.Deleted {
		names = append(names, m.Path+DeletedSuffix)
	}
	if strings.Contains(m.Path, "\n") {
		names = append(names, strings.ReplaceAll(m.Path, "\n", `\012`))
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "/") {
			continue
		}
		for _, look := range []func(string) (int, error){r.look, lookHere} {
			fd, err := look(name)
			var f *os.File
			if err == nil {
				f, err = openAccepted(fd, name, accept)
			}
			if err = lacking(err); f != nil || err != nil {
				return f, err
			}
		}
	}
	return nil, nil
}

// lookHere is look in our own root.
func lookHere(name string) (int, error) {
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(root)
	return lookAt(root, name)
}

// openAccepted opens the file of the O_PATH descriptor fd, and closes fd. It returns neither file nor error
// if the file is not accepted.
func openAccepted(fd int, name string, accept func(*unix.Stat_t) bool) (*os.File, error) {
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || !accept(&st) {
		return nil, err
	}
	return reopen(fd, &st, name)
}

// openLink opens a file by a link of the kernel: one of those in map_files, which has one for each
// mapping, or exe. It compares the inode, because the mapping may be gone and another file mapped at
// the same addresses.
func openLink(link string, m Map) (*os.File, error) {
	fd, err := unix.Open(link, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: link, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: link, Err: err}
	}
	if st.Ino != m.Inode {
		return nil, &fs.PathError{Op: "open", Path: link, Err: syscall.ESTALE}
	}
	return reopen(fd, &st, m.Path)
}
