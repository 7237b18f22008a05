package ptrace

import (
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Child is a process of ours that waits between fork and exec until Exec is called.
// So it can be seized before it runs anything. If this program dies meanwhile, the
// child ends by itself: it waits in a read(2) of a pipe, and this program has the only
// other end.
type Child struct {
	PID    int
	gate   int // write end: one byte lets the child exec
	result int // read end: the errno of an exec that failed, end of file otherwise
}

//go:linkname runtimeBeforeFork syscall.runtime_BeforeFork
func runtimeBeforeFork()

//go:linkname runtimeAfterFork syscall.runtime_AfterFork
func runtimeAfterFork()

//go:linkname runtimeAfterForkInChild syscall.runtime_AfterForkInChild
func runtimeAfterForkInChild()

// childPlan has all that the child needs. It is made before the fork, because the child
// must not allocate.
type childPlan struct {
	path       *byte
	argv, envv **byte
	dir        *byte
	fds        []int32
	gate       [2]int32 // read, write
	result     int32    // write end
	top        int32    // above every descriptor named here
	limit      *unix.Rlimit
	ignored    []uintptr
	action     ignoreAction
	leave      [1]byte
	errno      [4]byte
}

// Fork starts the child. The program gets the signal mask that the calling thread has
// now.
func Fork(c *Command) (*Child, error) {
	p, err := newChildPlan(c)
	if err != nil {
		return nil, err
	}
	limit, err := fileLimit()
	if err != nil {
		return nil, err
	}
	p.limit = limit
	var gate, result [2]int
	// ForkLock keeps a child of os/exec that is being made right now from
	// inheriting the pipes: descriptors are made close-on-exec, and no fork comes in
	// between.
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
	if err := unix.Pipe2(gate[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	if err := unix.Pipe2(result[:], unix.O_CLOEXEC); err != nil {
		closeAll(gate[:])
		return nil, err
	}
	p.gate, p.result = [2]int32{int32(gate[0]), int32(gate[1])}, int32(result[1])
	p.top = max(p.gate[0], p.gate[1], p.result, int32(len(p.fds))) + 1
	for _, fd := range p.fds {
		p.top = max(p.top, fd+1)
	}
	pid, e := p.fork()
	closeAll([]int{gate[0], result[1]})
	if e != 0 {
		closeAll([]int{gate[1], result[0]})
		return nil, e
	}
	return &Child{PID: int(pid), gate: gate[1], result: result[0]}, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

func newChildPlan(c *Command) (*childPlan, error) {
	p := &childPlan{fds: make([]int32, len(c.Files)), ignored: inheritedIgnored(), action: ignoreAction{handler: sigIgn}}
	var err error
	if p.path, err = syscall.BytePtrFromString(c.Path); err != nil {
		return nil, err
	}
	argv, err := syscall.SlicePtrFromStrings(c.Args)
	if err != nil {
		return nil, err
	}
	envv, err := syscall.SlicePtrFromStrings(c.Env)
	if err != nil {
		return nil, err
	}
	p.argv, p.envv = &argv[0], &envv[0]
	if c.Dir != "" {
		if p.dir, err = syscall.BytePtrFromString(c.Dir); err != nil {
			return nil, err
		}
	}
	for i, fd := range c.Files {
		p.fds[i] = int32(fd)
	}
	return p, nil
}

// fork makes the child by a plain clone(2) without shared memory, because the parent has
// to run while the child waits.
//
//go:noinline
//go:norace
//go:nocheckptr
func (p *childPlan) fork() (pid uintptr, e syscall.Errno) {
	runtimeBeforeFork()
	pid, _, e = unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 || pid != 0 {
		runtimeAfterFork()
		return pid, e
	}
	runtimeAfterForkInChild()
	p.child()
	return 0, 0 // not reached
}

// child runs in the new process. It only makes system calls: no other thread of the Go
// runtime exists here, no lock can be relied on, and the stack must not grow.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (p *childPlan) child() {
	var e syscall.Errno
	var n uintptr
	raw(unix.SYS_CLOSE, uintptr(p.gate[1]), 0, 0)
	for {
		n, e = raw(unix.SYS_READ, uintptr(p.gate[0]), uintptr(unsafe.Pointer(&p.leave[0])), 1)
		if e != unix.EINTR {
			break
		}
	}
	if n != 1 {
		raw(unix.SYS_EXIT_GROUP, 127, 0, 0)
	}
	if e = p.files(); e == 0 && p.dir != nil {
		_, e = raw(unix.SYS_CHDIR, uintptr(unsafe.Pointer(p.dir)), 0, 0)
	}
	if e == 0 {
		e = p.ignore()
	}
	if e == 0 && p.limit != nil {
		_, e = raw(unix.SYS_SETRLIMIT, unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(p.limit)), 0)
	}
	if e == 0 {
		_, e = raw(unix.SYS_EXECVE, uintptr(unsafe.Pointer(p.path)), uintptr(unsafe.Pointer(p.argv)), uintptr(unsafe.Pointer(p.envv)))
	}
	p.errno = [4]byte{byte(e), byte(e >> 8), byte(e >> 16), byte(e >> 24)}
	raw(unix.SYS_WRITE, uintptr(p.result), uintptr(unsafe.Pointer(&p.errno[0])), 4)
	for {
		raw(unix.SYS_EXIT_GROUP, 127, 0, 0)
	}
}

// files moves the descriptors of the program to 0, 1, …: first all of them to higher
// numbers, then each to its place.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (p *childPlan) files() (e syscall.Errno) {
	var n uintptr
	if int(p.result) < len(p.fds) {
		if n, e = raw(unix.SYS_FCNTL, uintptr(p.result), unix.F_DUPFD_CLOEXEC, uintptr(p.top)); e != 0 {
			return e
		}
		p.result = int32(n)
	}
	for i := 0; i < len(p.fds); i++ {
		if p.fds[i] < int32(len(p.fds)) && p.fds[i] != int32(i) {
			if n, e = raw(unix.SYS_FCNTL, uintptr(p.fds[i]), unix.F_DUPFD_CLOEXEC, uintptr(p.top)); e != 0 {
				return e
			}
			p.fds[i] = int32(n)
		}
	}
	for i := 0; i < len(p.fds); i++ {
		if p.fds[i] == int32(i) {
			_, e = raw(unix.SYS_FCNTL, uintptr(i), unix.F_SETFD, 0)
		} else {
			_, e = raw(unix.SYS_DUP3, uintptr(p.fds[i]), uintptr(i), 0)
		}
		if e != 0 {
			return e
		}
	}
	return 0
}

//go:norace
//go:nosplit
//go:nocheckptr
func raw(nr, a, b, c uintptr) (uintptr, syscall.Errno) {
	n, _, e := syscall.RawSyscall(nr, a, b, c)
	return n, e
}

// Exec makes the child continue with execve. It is called once, after the child has been
// seized.
func (c *Child) Exec() error {
	_, err := unix.Write(c.gate, []byte{1})
	unix.Close(c.gate)
	c.gate = -1
	return err
}

// ExecError returns the error of execve, chdir or the set-up of the descriptors, or nil
// if the program is in place. It blocks until that is known. It is known at once where
// the caller has seen the exec event or the end of the child.
func (c *Child) ExecError() error {
	defer c.Abandon()
	var b [4]byte
	for {
		n, err := unix.Read(c.result, b[:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n < len(b):
			return nil
		}
		return syscall.Errno(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
	}
}

// Abandon closes our ends of the pipes. A child for which Exec has not been called ends.
func (c *Child) Abandon() {
	if c.gate >= 0 {
		unix.Close(c.gate)
		c.gate = -1
	}
	if c.result >= 0 {
		unix.Close(c.result)
		c.result = -1
	}
}

// fileLimit returns the RLIMIT_NOFILE that a child of os/exec gets. Package syscall raises
// the soft limit of a Go program to one below the hard one when it starts. It sets
// the original limit in children, but does not export it. So the first call reads the
// limit of a child that never runs an instruction.
var fileLimit = sync.OnceValues(func() (*unix.Rlimit, error) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		return nil, err
	}
	if own.Cur+1 < own.Max {
		return nil, nil // not raised: it stays
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"limit"}, &syscall.ProcAttr{
		Sys: &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		unix.Kill(pid, unix.SIGKILL)
		for {
			var ws unix.WaitStatus
			if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != unix.EINTR && (err != nil || ws.Exited() || ws.Signaled()) {
				return
			}
		}
	}()
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		return nil, err
	}
	return &limit, nil
})
