package check

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// childEnv names the kind of a child in its environment.
const childEnv = "PTOOLS_CHECK_CHILD"

// Kinds of children.
const (
	plain      = "plain"
	busy       = "busy"       // it never sleeps, for timers
	undumpable = "undumpable" // to the kernel it is like a process of another user (__ptrace_may_access)
	orphan     = "orphan"     // it is no descendant of this program
	parent     = "parent"     // of the orphan
	contained  = "contained"  // in namespaces of its own
)

func init() {
	if kind := os.Getenv(childEnv); kind != "" {
		child(kind)
		os.Exit(0)
	}
}

// word is memory of a child that is read and written.
var word uint64 = magic

const magic = 0x7074_6f6f_6c73_3031

// hot is the function with a breakpoint.
//
//go:noinline
func hot(n uint64) uint64 {
	for range 1 << 12 {
		n = n*6364136223846793005 + 1
	}
	return n
}

// child is the main function of a child. It prints its number, the address of word and the descriptor of a socket, and
// calls hot again and again until its standard input ends.
func child(kind string) {
	switch kind {
	case undumpable:
		setUndumpable()
	case parent:
		cmd := exec.Command(self())
		cmd.Env = []string{childEnv + "=" + orphan}
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		if err := cmd.Start(); err != nil {
			fmt.Println(err)
		}
		return
	case orphan:
		for before := os.Getppid(); os.Getppid() == before && before != 1; time.Sleep(time.Millisecond) {
			if _, err := os.Stat("/proc/" + strconv.Itoa(before)); err != nil {
				break
			}
		}
	}
	socket := -1
	if pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); err == nil {
		socket = pair[0]
	}
	// All threads are made before the child says that it is ready: the runtime makes a thread with all signals blocked.
	runtime.LockOSThread()
	reading := make(chan struct{})
	go func() { // ends the process
		close(reading)
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	<-reading
	fmt.Println(os.Getpid(), uintptr(unsafe.Pointer(&word)), socket)
	for n := uint64(1); ; n = hot(n) {
		word = magic
		if kind != busy {
			time.Sleep(time.Millisecond)
		}
	}
}

// A specimen is a running child.
type specimen struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout io.Closer
	pid    int // in our namespace
	addr   int64
	socket int
}

// start starts a child. It returns when the child is ready.
func start(ctx context.Context, kind string) (*specimen, error) {
	cmd := exec.CommandContext(ctx, self())
	cmd.Env = []string{childEnv + "=" + kind, "GOMAXPROCS=2"}
	if kind == contained {
		// From another user namespace the link in /proc may not be followed.
		if path, err := os.Executable(); err == nil {
			cmd.Path = path
		}
		contain(cmd)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		stdin.Close()
		return nil, err
	}
	if err := startWithoutRights(cmd); err != nil {
		stdin.Close()
		stdout.Close()
		return nil, err
	}
	s := &specimen{cmd: cmd, stdin: stdin, stdout: stdout, pid: cmd.Process.Pid}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	inner := 0
	if _, serr := fmt.Sscan(line, &inner, &s.addr, &s.socket); serr != nil || err != nil {
		s.end()
		return nil, errors.Join(fmt.Errorf("the child says %q", strings.TrimSpace(line)), err)
	}
	if kind == parent {
		s.pid = inner
	}
	return s, nil
}

// end ends the child and waits for that.
func (s *specimen) end() {
	s.stdin.Close()
	io.Copy(io.Discard, s.stdout.(io.Reader)) // until an orphan has ended, which holds the pipe too
	s.cmd.Wait()
}
