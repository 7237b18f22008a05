package procfs

import (
	"bytes"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Task reads the files of one thread again and again, through descriptors
// that are opened on first use and kept. A kept descriptor is bound to that
// very thread: reading still returns ESRCH when the TID is used again. A file is
// kept only if enough descriptors are left to the rest of the program (mayKeep).
// Otherwise it is opened by name for the one call.
//
// A warm call allocates nothing. One goroutine at a time may use a Task.
type Task struct {
	pid, tid int
	files    [taskFiles]int // descriptors plus one; 0 is not open
	comm     string         // the name Stat saw last
	closed   bool
}

type taskFile int

const (
	schedstatFile taskFile = iota
	syscallFile
	statFile
	commFile
	waitFile
	schedFile
	taskFiles
)

var taskFileNames = [taskFiles]string{"schedstat", "syscall", "stat", "comm", "wchan", "sched"}

// OpenTask returns the Task of a thread of the process, or ESRCH.
func OpenTask(pid, tid int) (*Task, error) {
	t := &Task{pid: pid, tid: tid}
	var buf [1024]byte
	if _, errno := t.read(statFile, buf[:]); errno != 0 {
		t.Close()
		return nil, errno
	}
	return t, nil
}

// UnopenedTask returns the Task of a thread that is known to exist. Nothing binds the Task to that thread until the
// first of its files is opened: until then the caller has to make sure that the thread has not ended.
func UnopenedTask(pid, tid int) *Task { return &Task{pid: pid, tid: tid} }

// Bound reports whether a file that is open binds the Task to its thread.
func (t *Task) Bound() bool { return t.files != [taskFiles]int{} }

// SchedStat reads the thread's schedstat; errors.ErrUnsupported means that
// the kernel was built without it.
func (t *Task) SchedStat() (SchedStat, error) {
	var buf [128]byte
	b, errno := t.read(schedstatFile, buf[:])
	if errno != 0 {
		if _, alive := t.read(statFile, buf[:]); errno == unix.ESRCH && alive == 0 {
			return SchedStat{}, errors.ErrUnsupported
		}
		return SchedStat{}, errno
	}
	return ParseSchedStat(b)
}

// Syscall reads the position of the thread. It needs the permission
// PTRACE_MODE_ATTACH, as attaching does.
func (t *Task) Syscall() (Syscall, error) {
	var buf [256]byte
	b, errno := t.read(syscallFile, buf[:])
	if errno != 0 {
		return Syscall{}, errno
	}
	return ParseSyscall(b)
}

// SleepsInRead reports whether a thread of this process sleeps in one of the calls that read memory of another one, rather
// than waits for a processor or, in any other call, for Go's runtime. Of a program whose files in /proc are root's
// (prctl(2), PR_SET_DUMPABLE) only the state of its threads can be seen: there each sleep counts.
func SleepsInRead(tid int) bool {
	task, err := OpenTask(os.Getpid(), tid)
	if err != nil {
		return false // the goroutine runs on another thread by now
	}
	defer task.Close()
	call, err := task.Syscall()
	if err != nil {
		st, err := task.Stat()
		return err == nil && st.State != 'R'
	}
	name := SyscallName(call.Nr)
	return !call.Running && (name == "process_vm_readv" || name == "pread64")
}

// Stat reads the thread's stat.
func (t *Task) Stat() (Stat, error) {
	var buf [1024]byte
	b, errno := t.read(statFile, buf[:])
	if errno != 0 {
		return Stat{}, errno
	}
	st, err := parseStat(b, t.comm)
	if err == nil {
		t.comm = st.Comm
	}
	return st, err
}

// Comm reads the thread's name.
func (t *Task) Comm() (string, error) {
	var buf [128]byte
	b, errno := t.read(commFile, buf[:])
	if errno != 0 {
		return "", errno
	}
	if b = bytes.TrimSuffix(b, []byte{'\n'}); string(b) != t.comm {
		t.comm = string(b)
	}
	return t.comm, nil
}

// Turn reads the thread's sched file. The error is an [errors.ErrUnsupported] if the kernel does not have it
// (CONFIG_SCHED_DEBUG).
func (t *Task) Turn() (Turn, error) {
	var buf [1024]byte // the lines that count are among the first
	b, errno := t.read(schedFile, buf[:])
	switch {
	case errno == unix.ENOENT:
		return Turn{}, errors.ErrUnsupported
	case errno != 0:
		return Turn{}, errno
	}
	return parseTurn(b)
}

// WaitChannel returns the kernel function that the thread sleeps in. It returns "" if the thread runs, or the kernel
// does not show the function. It needs the permission PTRACE_MODE_READ. Every process may open the file.
func (t *Task) WaitChannel() (string, error) {
	var buf [128]byte
	b, errno := t.read(waitFile, buf[:])
	if errno != 0 {
		return "", errno
	}
	if string(b) == "0" {
		return "", nil
	}
	name, _, _ := bytes.Cut(b, []byte{'.'}) // a suffix of the compiler: poll_schedule_timeout.constprop.0
	return string(name), nil
}

// room is how many descriptors are left to the rest of the program, in addition to a quarter of all.
const room = 32

// mayKeep reports whether a new descriptor of a file may stay open. The kernel gives out the lowest free
// number, so the number shows how many descriptors the whole program uses. Where there are very many threads
// only the schedstats are kept: they are read again and again to see whether the other files have changed.
func mayKeep(fd int, f taskFile) bool {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	part := limit.Cur / 4
	if f == schedstatFile {
		part *= 3
	}
	return err == nil && uint64(fd)+room < part
}

// read fills buf with the file from its beginning. The kernel makes the text
// anew at each pread of offset 0.
func (t *Task) read(f taskFile, buf []byte) ([]byte, syscall.Errno) {
	if t.closed {
		return nil, unix.EBADF
	}
	if fd := t.files[f]; fd != 0 {
		return pread(fd-1, buf)
	}
	p := taskPath(t.pid, t.tid, taskFileNames[f])
	fd, errno := p.tryOpen(unix.O_RDONLY)
	if errno == unix.EMFILE || errno == unix.ENFILE {
		t.drop() // the program has used up its descriptors: this Task does with one at a time
		fd, errno = p.open(unix.O_RDONLY)
	}
	if errno != 0 {
		return nil, errno
	}
	if !mayKeep(fd, f) {
		defer unix.Close(fd)
		return pread(fd, buf)
	}
	t.files[f] = fd + 1
	return pread(fd, buf)
}

func pread(fd int, buf []byte) ([]byte, syscall.Errno) {
	for {
		n, err := unix.Pread(fd, buf, 0)
		if err == nil {
			return buf[:n], 0
		}
		if errno := err.(syscall.Errno); errno != unix.EINTR {
			return nil, vanished(errno)
		}
	}
}

// drop closes what is kept.
func (t *Task) drop() {
	for f, fd := range t.files {
		if fd != 0 {
			unix.Close(fd - 1)
			t.files[f] = 0
		}
	}
}

// Close closes what the Task keeps open. It is idempotent; later calls of
// the other methods return EBADF.
func (t *Task) Close() error {
	t.drop()
	t.closed = true
	return nil
}
