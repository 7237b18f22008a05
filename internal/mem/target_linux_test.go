package mem

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

const page = 4096

// TestMain is also the target. With targetEnv set it maps six pages and fills
// them. The third can then not be accessed, the fourth is unmapped, and the fifth is
// read-only. It prints their address, and executes the commands on its standard
// input.
func TestMain(m *testing.M) {
	if os.Getenv(targetEnv) != "" {
		target()
		os.Exit(0)
	}
	ptest.Main(m)
}

const targetEnv = "PTOOLS_MEM_TARGET"

// The target reads and writes on its first thread, so that this thread can end before the others.
func init() {
	if os.Getenv(targetEnv) != "" {
		runtime.LockOSThread()
	}
}

func target() {
	b, err := syscall.Mmap(-1, 0, 6*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		panic(err)
	}
	for i := range b {
		b[i] = pattern(i)
	}
	copy(b[page-3:], "across\x00")
	syscall.Mprotect(b[2*page:3*page], syscall.PROT_NONE)
	syscall.Mprotect(b[4*page:5*page], syscall.PROT_READ)
	unix.Syscall(unix.SYS_MUNMAP, uintptr(unsafe.Pointer(&b[3*page])), page, 0)
	fmt.Println(uintptr(unsafe.Pointer(&b[0])))
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		switch in.Text() {
		case "peek":
			fmt.Println(b[4*page])
		case "leave":
			unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
		case "exec":
			exe, _ := os.Executable()
			panic(syscall.Exec(exe, os.Args, os.Environ()))
		}
	}
}

func pattern(i int) byte { return byte(i*7 + i/page) }

type child struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	mem *Memory
	at  uint64 // address of the six pages
}

func start(t testing.TB) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), targetEnv+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(func() {
		if c.mem != nil {
			c.mem.Close()
		}
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	c.at = c.number()
	if c.mem, err = Open(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *child) number() uint64 {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatal("the target ended")
	}
	n, err := strconv.ParseUint(strings.TrimSpace(c.out.Text()), 10, 64)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

func (c *child) say(word string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, word); err != nil {
		c.t.Fatal(err)
	}
}

// check compares what was read from offset off of the pages.
func check(t *testing.T, b []byte, off int) {
	t.Helper()
	for i := range b {
		if o := off + i; b[i] != pattern(o) && (o < page-3 || o >= page+4) {
			t.Fatalf("byte %d is %#x, want %#x", o, b[i], pattern(o))
		}
	}
}
