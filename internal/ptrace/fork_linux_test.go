package ptrace

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

// fork makes a child of the calling OS thread, which waits for Exec. It is ended and collected when
// the test ends.
func fork(t *testing.T, argv ...string) *Child {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	fd := null.Fd()
	c, err := Fork(&Command{Path: argv[0], Args: argv, Env: os.Environ(), Files: []uintptr{fd, fd, fd}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Abandon()
		if HasChildren() { // else the test has collected it
			unix.Kill(c.PID, unix.SIGKILL)
			for s, err := Wait(true); err == nil && (s.TID != c.PID || !s.Kind.Ended()); s, err = Wait(true) {
			}
		}
	})
	return c
}

// TestForkWaits: the child runs nothing of its own before Exec, and ends when it is abandoned.
func TestForkWaits(t *testing.T) {
	x := newTracer(t)
	c := fork(t, "/bin/true")
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", c.PID))
	x.must(err)
	self, err := os.Executable()
	x.must(err)
	if exe != self {
		t.Errorf("the child runs %s", exe)
	}
	x.nothing()
	c.Abandon()
	if s := x.next(); s.TID != c.PID || s.Kind != KindExited || s.Code != 127 {
		t.Errorf("abandoned: %+v", s)
	}
}

// TestExecError: the error of execve comes back through the pipe.
func TestExecError(t *testing.T) {
	x := newTracer(t)
	for path, want := range map[string]error{
		"/does/not/exist": syscall.ENOENT, "/": syscall.EACCES, "/etc/passwd": syscall.EACCES, "/bin/true/x": syscall.ENOTDIR,
	} {
		c := fork(t, path)
		x.must(c.Exec())
		if s := x.next(); s.TID != c.PID || s.Code != 127 {
			t.Errorf("%s: %+v", path, s)
		}
		if err := c.ExecError(); err != want {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

// TestTraceMe: a child that has asked to be traced (PTRACE_TRACEME) can be neither interrupted nor seized: as
// long as it is traced it is a tracee like those of PTRACE_ATTACH.
func TestTraceMe(t *testing.T) {
	x := newTracer(t)
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true}})
	x.must(err)
	defer Reap(pid)
	defer unix.Kill(pid, unix.SIGKILL)
	x.want(pid, KindSignal, syscall.SIGTRAP) // the exec, without an event
	for name, err := range map[string]error{"interrupt": Interrupt(pid), "listen": Listen(pid)} {
		if err != syscall.EIO {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Seize(pid, 0); err != syscall.EPERM {
		t.Errorf("seize: %v", err)
	}
}

// manyFiles is more than the number of descriptors that a test binary has open, so sources and places overlap.
const manyFiles = 64

var _ = ptest.Helper("number", func() {
	for fd := 3; fd < manyFiles; fd++ {
		unix.Write(fd, []byte{byte(fd)}) // an error is a byte that the test misses
	}
})

// TestFilesInAnyOrder: descriptors come to their places, also if other descriptors are in these places.
func TestFilesInAnyOrder(t *testing.T) {
	x := newTracer(t)
	self, err := os.Executable()
	x.must(err)
	cmd := &Command{Path: self, Args: []string{self}, Env: append(os.Environ(), "PTEST_HELPER=number")}
	var readers, writers [manyFiles]*os.File
	for i := range manyFiles {
		readers[i], writers[i], err = os.Pipe()
		x.must(err)
		defer readers[i].Close()
	}
	for fd := range manyFiles {
		cmd.Files = append(cmd.Files, writers[fd*5%manyFiles].Fd())
	}
	c, err := Fork(cmd)
	x.must(err)
	x.must(c.Exec())
	for _, w := range writers {
		w.Close()
	}
	if s := x.next(); s.TID != c.PID || s.Kind != KindExited || s.Code != 0 {
		t.Errorf("%+v", s)
	}
	if err := c.ExecError(); err != nil {
		t.Error(err)
	}
	for fd := range manyFiles {
		b, err := io.ReadAll(readers[fd*5%manyFiles])
		if want := string(rune(fd)); fd >= 3 && string(b) != want || err != nil {
			t.Errorf("descriptor %d: %q, %v", fd, b, err)
		}
	}
}

// TestFileLimit: the child has the RLIMIT_NOFILE that this program was started with, like a child of os/exec. It
// does not have the raised limit of a Go program.
func TestFileLimit(t *testing.T) {
	for _, limit := range []struct{ soft, hard string }{{"100", "4096"}, {"100", "101"}, {"4096", "4096"}} {
		out := ptest.Start(t, "/bin/sh", "-c", `ulimit -Sn "$2" && ulimit -Hn "$3" && PTEST_HELPER=forker exec "$1" "ulimit -n"`,
			"sh", os.Args[0], limit.soft, limit.hard).Line()
		if out != limit.soft {
			t.Errorf("started with %s of %s, the child has %s", limit.soft, limit.hard, out)
		}
	}
}

// The helper forker makes a child that runs its argument.
var _ = ptest.Helper("forker", func() {
	runtime.LockOSThread()
	c, err := Fork(&Command{Path: "/bin/sh", Args: []string{"sh", "-c", os.Args[1]}, Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err == nil {
		err = Seize(c.PID, 0)
	}
	if err == nil {
		err = c.Exec()
	}
	if err == nil {
		err = c.ExecError()
	}
	if err != nil {
		panic(err)
	}
	for s := (Stop{}); !s.Kind.Ended(); {
		if s, err = WaitTID(c.PID, true); err != nil {
			panic(err)
		}
		if !s.Kind.Ended() {
			Cont(c.PID, 0)
		}
	}
})

// The maker makes processes and ends them, again and again. They have its standard output.
var _ = ptest.Helper("maker", func() {
	runtime.LockOSThread()
	ptest.Ready()
	for {
		if err := makeOne(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
})

func makeOne() error {
	c, err := Fork(&Command{Path: "/bin/sleep", Args: []string{"sleep", "3600"}, Files: []uintptr{0, 1, 2}})
	if err != nil {
		return err
	}
	if err := Seize(c.PID, OptExec|OptExitKill); err != nil {
		return err
	}
	if err := c.Exec(); err != nil {
		return err
	}
	if s, err := Wait(true); err != nil || s.Kind != KindExec {
		return fmt.Errorf("%+v, %v", s, err)
	}
	if err := c.ExecError(); err != nil {
		return err
	}
	if err := Cont(c.PID, 0); err != nil {
		return err
	}
	unix.Kill(c.PID, unix.SIGKILL)
	Reap(c.PID)
	return nil
}

// TestMakerKilled: whenever the maker of a process is killed, the process is gone too. It ends by itself while it
// waits for its exec, and by PTRACE_O_EXITKILL from then on. The output of the maker ends when no process is left
// that could write to it.
func TestMakerKilled(t *testing.T) {
	random := ptest.Rand(t)
	for range ptest.Rounds(10, 100, 1000) {
		g := ptest.StartHelper(t, "maker")
		g.Ready()
		time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond) // the moment is the subject
		g.Kill()
		if out := g.Output(); out != "" {
			t.Fatalf("maker: %s", out)
		}
		if s := g.Wait().Sys().(syscall.WaitStatus); !s.Signaled() {
			t.Fatalf("maker: exit status %s", strconv.Itoa(s.ExitStatus()))
		}
	}
}

// TestParentIsNotTold: a thread waits for the end of its child, and another thread of its process traces the child. The
// waiting thread is not woken when the tracer has consumed the end. It cannot see the end before that either.
func TestParentIsNotTold(t *testing.T) {
	lockFit(t)
	child, parent, returned := make(chan *Child, 1), make(chan int, 1), make(chan struct{})
	go func() {
		defer close(returned)
		runtime.LockOSThread()
		parent <- ThreadID()
		c, err := Fork(&Command{Path: "/bin/true", Args: []string{"true"}})
		if err != nil {
			t.Error(err)
		}
		child <- c
		if c != nil {
			AwaitEnd(c.PID)
		}
	}()
	tid, c := <-parent, <-child
	if c == nil {
		return
	}
	if err := Seize(c.PID, 0); err != nil {
		t.Fatal(err)
	}
	waits := func() bool { // in waitid(2)
		b, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", tid))
		return strings.HasPrefix(string(b), strconv.Itoa(unix.SYS_WAITID)+" ")
	}
	for !waits() {
		runtime.Gosched()
	}
	c.Abandon()
	for s, err := Wait(true); err != nil || !s.Kind.Ended(); s, err = Wait(true) {
		if err != nil {
			t.Fatal(err)
		}
		Cont(s.TID, 0)
	}
	for range 1000 {
		if !waits() {
			t.Error("the parent was woken")
			break
		}
	}
	for { // when it is woken it finds that it has no child
		select {
		case <-returned:
			return
		default:
			unix.Tgkill(os.Getpid(), tid, unix.SIGURG)
			runtime.Gosched()
		}
	}
}
