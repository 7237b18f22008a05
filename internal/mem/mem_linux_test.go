package mem

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

const page = 4096

// TestMain is also the target: with targetEnv set it maps five pages of which
// the middle one cannot be read, fills them, prints their address, and then
// does what the lines on its standard input say.
func TestMain(m *testing.M) {
	if os.Getenv(targetEnv) != "" {
		target()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const targetEnv = "PTOOLS_MEM_TARGET"

// The target talks on its first thread, so that this can leave the others behind.
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

func TestReadAt(t *testing.T) {
	c := start(t)
	for _, r := range []struct {
		off, size, want int
		err             error
	}{
		{0, 1, 1, nil},
		{100, page, page, nil},
		{0, 2 * page, 2 * page, nil},
		{2*page - 8, 16, 16, nil}, // PROT_NONE: only /proc/PID/mem gets there
		{0, 3 * page, 3 * page, nil},
		{2 * page, 2 * page, page, syscall.EFAULT}, // the unmapped page
		{3*page - 10, 20, 10, syscall.EFAULT},
		{3 * page, 8, 0, syscall.EFAULT},
		{4 * page, 2 * page, 2 * page, nil},
		{0, 0, 0, nil},
	} {
		b := make([]byte, r.size)
		n, err := c.mem.ReadAt(b, int64(c.at)+int64(r.off))
		if n != r.want || err != r.err {
			t.Errorf("ReadAt(%d bytes at %d) = %d, %v; want %d, %v", r.size, r.off, n, err, r.want, r.err)
		}
		check(t, b[:n], r.off)
	}
	for _, addr := range []uint64{0, 1<<64 - 4096, 1 << 63, 0xffffffffff600000} {
		if n, err := c.mem.ReadAt(make([]byte, 8), int64(addr)); n != 0 || err != syscall.EFAULT {
			t.Errorf("ReadAt(%#x) = %d, %v; want EFAULT", addr, n, err)
		}
	}
}

// TestUser: the process's own view stops where the process would fault.
func TestUser(t *testing.T) {
	c := start(t)
	u := c.mem.User()
	b := make([]byte, 16)
	if n, err := u.ReadAt(b, int64(c.at)); n != 16 || err != nil {
		t.Errorf("ReadAt = %d, %v", n, err)
	}
	check(t, b, 0)
	if n, err := u.ReadAt(b, int64(c.at)+2*page); n != 0 || err != syscall.EFAULT {
		t.Errorf("ReadAt of a page without permission = %d, %v; want EFAULT", n, err)
	}
	if n, err := u.WriteAt(b, int64(c.at)+2*page); n != 0 || err != syscall.EFAULT {
		t.Errorf("WriteAt to a page without permission = %d, %v; want EFAULT", n, err)
	}
	if n := testing.AllocsPerRun(10, func() { u.ReadAt(b, int64(c.at)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestReadVec(t *testing.T) {
	c := start(t)
	// More ranges than one call takes, with a hole now and then: a range in
	// the unmapped page, one that ends in it, an empty one.
	const ranges = 3*iovMax + 17
	var dst [][]byte
	var addrs []uint64
	var offs, want []int
	total := 0
	add := func(off, size, readable int) {
		dst = append(dst, make([]byte, size))
		addrs = append(addrs, c.at+uint64(off))
		offs = append(offs, off)
		want = append(want, readable)
		total += readable
	}
	for i := range ranges {
		switch {
		case i%97 == 5:
			add(3*page+i%100, 8, 0)
		case i%89 == 3:
			add(3*page-20, 64, 20)
		case i%11 == 0:
			add(0, 0, 0)
		case i%13 == 0:
			add(2*page+i%1000, 32, 32)
		default:
			add(i%(2*page-40), 40, 40)
		}
	}
	n, err := c.mem.ReadVec(dst, addrs)
	if n != total || err != syscall.EFAULT {
		t.Errorf("ReadVec = %d, %v; want %d, EFAULT", n, err, total)
	}
	for i := range dst {
		if len(dst[i]) != want[i] {
			t.Errorf("range %d has %d bytes, want %d", i, len(dst[i]), want[i])
		}
		check(t, dst[i], offs[i])
	}
	if n, err := c.mem.ReadVec(nil, nil); n != 0 || err != nil {
		t.Errorf("ReadVec of nothing = %d, %v", n, err)
	}
}

func TestWriteAt(t *testing.T) {
	c := start(t)
	if n, err := c.mem.WriteAt([]byte{42}, int64(c.at+4*page)); n != 1 || err != nil {
		t.Fatalf("WriteAt to a read-only page = %d, %v", n, err)
	}
	c.say("peek")
	if got := c.number(); got != 42 {
		t.Errorf("the target sees %d, want 42", got)
	}
	if n, err := c.mem.WriteAt(make([]byte, 20), int64(c.at+3*page-10)); n != 10 || err != syscall.EFAULT {
		t.Errorf("WriteAt into a hole = %d, %v; want 10, EFAULT", n, err)
	}
}

func TestReadString(t *testing.T) {
	c := start(t)
	for _, r := range []struct {
		off  uint64
		max  int
		want string
		err  error
	}{
		{page - 3, 100, "across", nil},
		{page - 3, 6, "across", nil},
		{page - 3, 4, "acro", nil},
		{page - 3, 0, "", nil},
		{3 * page, 10, "", syscall.EFAULT},
	} {
		got, err := ReadString(c.mem, c.at+r.off, r.max)
		if got != r.want || err != r.err {
			t.Errorf("ReadString(%d, %d) = %q, %v; want %q, %v", r.off, r.max, got, err, r.want, r.err)
		}
	}
	whole, err := ReadUint64(c.mem, c.at+8)
	again, err2 := c.mem.Uint64(c.at + 8)
	half, err3 := ReadUint32(c.mem, c.at+12)
	if err := errors.Join(err, err2, err3); err != nil || whole != again || uint32(whole>>32) != half {
		t.Errorf("words %#x, %#x, %#x: %v", whole, again, half, err)
	}
}

// TestExec shows what doc comments promise: the descriptor stays with the old
// image, which is gone, and process_vm_readv goes into the new one.
func TestExec(t *testing.T) {
	c := start(t)
	if c.mem.Stale() {
		t.Fatal("stale from the beginning")
	}
	c.say("exec")
	at := c.number() // printed by the new image
	if !c.mem.Stale() {
		t.Error("not stale after an exec")
	}
	b := make([]byte, 8)
	if n, err := c.mem.ReadAt(b, int64(at)); n != len(b) || err != nil {
		t.Errorf("reading the new image = %d, %v", n, err)
	}
	check(t, b, 0)
	if n, err := c.mem.WriteAt(b, int64(at)); n != 0 || err != syscall.ESRCH {
		t.Errorf("WriteAt through a stale Memory = %d, %v; want ESRCH", n, err)
	}
	m, err := Open(c.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.Stale() {
		t.Error("a Memory of the new image is stale")
	}
}

func TestGone(t *testing.T) {
	c := start(t)
	c.cmd.Process.Kill()
	c.cmd.Wait()
	if n, err := c.mem.ReadAt(make([]byte, 8), int64(c.at)); n != 0 || err != syscall.ESRCH {
		t.Errorf("ReadAt of a dead process = %d, %v; want ESRCH", n, err)
	}
	if !c.mem.Stale() {
		t.Error("the memory of a dead process is not stale")
	}
	if _, err := Open(c.cmd.Process.Pid); err != syscall.ESRCH {
		t.Errorf("Open of a dead process: %v, want ESRCH", err)
	}
	if err := c.mem.Close(); err != nil || c.mem.Close() != nil {
		t.Errorf("Close: %v", err)
	}
	_, err1 := c.mem.ReadAt(make([]byte, 1), 0)
	_, err2 := c.mem.WriteAt(make([]byte, 1), 0)
	dst := [][]byte{make([]byte, 1)}
	_, err3 := c.mem.ReadVec(dst, []uint64{0})
	if err1 != os.ErrClosed || err2 != os.ErrClosed || err3 != os.ErrClosed || len(dst[0]) != 0 {
		t.Errorf("after Close: %v, %v, %v", err1, err2, err3)
	}
}

// TestCloseWhileReading looks for a read through a descriptor number that
// already belongs to somebody else.
func TestCloseWhileReading(t *testing.T) {
	c := start(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			b := make([]byte, 3*page)
			for {
				n, err := c.mem.ReadAt(b, int64(c.at))
				if err == os.ErrClosed {
					return
				}
				if n != len(b) || err != nil {
					t.Errorf("ReadAt = %d, %v", n, err)
					return
				}
			}
		})
	}
	b := make([]byte, page)
	for range 100 {
		c.mem.ReadAt(b, int64(c.at))
	}
	c.mem.Close()
	wg.Wait()
}

func TestAllocs(t *testing.T) {
	c := start(t)
	b := make([]byte, 64)
	dst := [][]byte{b[:8], b[8:16]}
	addrs := []uint64{c.at, c.at + 100}
	n := testing.AllocsPerRun(100, func() {
		c.mem.ReadAt(b, int64(c.at))
		c.mem.ReadAt(b, int64(c.at+3*page)) // fails
		c.mem.WriteAt(b[:1], int64(c.at))
		c.mem.Uint64(c.at)
		c.mem.ReadVec(dst, addrs)
		c.mem.Stale()
	})
	if n != 0 && !raceEnabled {
		t.Errorf("%v allocations a round, want none", n)
	}
}

func BenchmarkRead(b *testing.B) {
	c := start(b)
	for _, size := range []int{8, page, 2 * page} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			b.ReportAllocs()
			p := make([]byte, size)
			for b.Loop() {
				c.mem.ReadAt(p, int64(c.at))
			}
		})
	}
	b.Run("vec64x64", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, page)
		var dst [64][]byte
		var addrs [64]uint64
		for b.Loop() {
			for i := range dst {
				dst[i], addrs[i] = buf[64*i:64*i+64], c.at+uint64(64*i)
			}
			c.mem.ReadVec(dst[:], addrs[:])
		}
	})
	b.Run("stale", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.mem.Stale()
		}
	})
}
