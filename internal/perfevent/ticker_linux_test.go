package perfevent

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

// Numbers of registers in a Record.
const (
	recordBP = 6
	recordSP = 7
	recordIP = 8
)

// openTicker opens a Ticker, and skips the test where that is not allowed.
func openTicker(t *testing.T, o TickerOptions) *Ticker {
	t.Helper()
	c, err := OpenTicker(o)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// want makes a process sampled.
func want(t *testing.T, c *Ticker, pid int) {
	t.Helper()
	if err := c.Want(pid); err != nil {
		t.Fatal(err)
	}
}

// collect reads records until there are n of a kind about a process.
func collect(t *testing.T, c *Ticker, pid int, kind RecordKind, n int) (all []Record) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); len(all) < n; time.Sleep(time.Millisecond) {
		c.Read(func(r *Record) {
			if r.Kind == kind && r.PID == pid && len(all) < n {
				k := *r
				k.Stack, k.Chain, k.KernelChain = slices.Clone(r.Stack), slices.Clone(r.Chain), slices.Clone(r.KernelChain)
				all = append(all, k)
			}
		})
		if time.Now().After(deadline) {
			t.Fatalf("%d records of kind %v, not %d", len(all), kind, n)
		}
	}
	return all
}

// used is the processor time of a process.
func used(t *testing.T, pid int) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

// TestTicks: a spinning thread is sampled once in each period of its processor, with its
// registers and its stack of that moment. Other threads are not sampled. The stack ends with the mapping.
func TestTicks(t *testing.T) {
	const period, stack = time.Millisecond, 16 << 10
	c := openTicker(t, TickerOptions{Period: period, Stack: stack})
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"))
	g.Ready()
	other := ptest.Start(t, ptest.BuildC(t, "mix.c"))
	other.Ready()
	want(t, c, g.PID)
	start, before := time.Now(), used(t, g.PID)
	var all []Record
	for len(all) < 300 && time.Since(start) < 30*time.Second {
		time.Sleep(time.Millisecond)
		c.Redraw(rand.Int64N)
		c.Read(func(r *Record) {
			if r.Kind != Tick {
				return
			}
			if r.PID != g.PID {
				t.Errorf("process %d is met", r.PID)
			}
			k := *r
			k.Stack = slices.Clone(r.Stack)
			all = append(all, k)
		})
	}
	passed, burnt := time.Since(start), used(t, g.PID)-before
	bottom, top := mapping(t, g.PID, "[stack]")
	for i, k := range all {
		sp := k.Regs[recordSP]
		if sp < bottom || sp >= top {
			t.Fatalf("tick %d: sp %#x is not in the stack, %#x-%#x", i, sp, bottom, top)
		}
		// A page that the thread has not touched yet ends it too. The kernel leaves out a random number of
		// pages below the strings.
		if want, got := min(stack, top-sp), uint64(len(k.Stack)); got != want && (got == 0 || got > want || (sp+got)%4096 != 0) {
			t.Errorf("tick %d: %d bytes of the stack from %#x to %#x", i, got, sp, top)
		}
		if !k.InKernel && k.Regs[recordIP] == 0 {
			t.Errorf("tick %d: no program counter", i)
		}
		if i > 0 && k.Time < all[i-1].Time {
			t.Errorf("tick %d comes %v after the next", i-1, all[i-1].Time-k.Time)
		}
	}
	if len(all) == 0 {
		t.Fatal("no ticks")
	}
	// The stack above the frame of main does not change.
	last := all[len(all)-1]
	tail := last.Stack[len(last.Stack)-256:]
	now := make([]byte, len(tail))
	if n, err := readMemory(g.PID, now, last.Regs[recordSP]+uint64(len(last.Stack)-len(tail))); n != len(now) || !bytes.Equal(tail, now) {
		t.Errorf("the stack ends in %x, which is %x, %v", tail, now, err)
	}
	t.Logf("%d ticks of %v in %v of processor time, %v", len(all), period, burnt, passed)
	// The timer runs on while the hypervisor runs something else. The scheduler's clock does not. Of 300 ticks in some 40
	// periods that were drawn the standard deviation is 2 %.
	if n := int(passed / period); len(all) > n+n/8+2 {
		t.Errorf("%d ticks in %v", len(all), passed)
	}
}

// TestTickChain: the kernel follows frame pointers from one stack to another.
func TestTickChain(t *testing.T) {
	c := openTicker(t, TickerOptions{Period: time.Millisecond, Stack: 4 << 10})
	g := ptest.Start(t, ptest.BuildC(t, "testdata/switched.c", "-fno-omit-frame-pointer"))
	g.Ready()
	want(t, c, g.PID)
	bottom, top := mapping(t, g.PID, "[stack]")
	word := func(addr uint64) uint64 {
		var b [8]byte
		if n, err := readMemory(g.PID, b[:], addr); n != len(b) {
			t.Fatalf("word at %#x: %v", addr, err)
		}
		return binary.LittleEndian.Uint64(b[:])
	}
	other := 0
	for i, k := range collect(t, c, g.PID, Tick, 100) {
		if sp := k.Regs[recordSP]; sp >= bottom && sp < top {
			continue // it has just begun
		}
		other++
		outer := word(k.Regs[recordBP])
		if outer < bottom || outer >= top {
			t.Fatalf("tick %d: the frame pointer leads to %#x, not into %#x-%#x", i, outer, bottom, top)
		}
		if want := []uint64{word(k.Regs[recordBP] + 8), word(outer + 8)}; len(k.Chain) < 2 || !slices.Equal(k.Chain[:2], want) {
			t.Errorf("tick %d: %#x, not %#x", i, k.Chain, want)
		}
		if len(k.KernelChain) > 0 {
			t.Errorf("tick %d: %d addresses in the kernel that were not asked for", i, len(k.KernelChain))
		}
	}
	if other < 50 {
		t.Errorf("%d of 100 ticks are on the other stack", other)
	}
}

// mapping returns the bounds of a mapping by its name.
func mapping(t *testing.T, pid int, name string) (start, end uint64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var perms, off, dev, inode, path string
		fmt.Sscanf(line, "%x-%x %s %s %s %s %s", &start, &end, &perms, &off, &dev, &inode, &path)
		if path == name {
			return start, end
		}
	}
	t.Fatalf("no %s", name)
	return 0, 0
}

// TestTicksUnread: samples that do not fit are lost and counted. Samples after that are whole.
func TestTicksUnread(t *testing.T) {
	const period = 100 * time.Microsecond
	c := openTicker(t, TickerOptions{Period: period, Stack: MaxStack})
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"))
	g.Ready()
	want(t, c, g.PID)
	for begun := used(t, g.PID); used(t, g.PID)-begun < 500*time.Millisecond; {
		time.Sleep(time.Millisecond)
	}
	held, lost := 0, c.Read(func(*Record) {})
	for deadline := time.Now().Add(30 * time.Second); lost == 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		lost = c.Read(func(*Record) { held++ }) // the loss is reported when there is room again
	}
	if lost == 0 {
		t.Errorf("none of some 5000 ticks was lost")
	}
	bottom, top := mapping(t, g.PID, "[stack]")
	for _, k := range collect(t, c, g.PID, Tick, 100) {
		if sp := k.Regs[recordSP]; sp < bottom || sp >= top {
			t.Fatalf("sp %#x after a loss", sp)
		}
	}
}

// TestTickInSystemCall: a tick of a thread in the kernel has the registers that it has entered the kernel with. The
// program counter is behind the instruction. The kernel's chain says where the thread is in the kernel.
func TestTickInSystemCall(t *testing.T) {
	c := openTicker(t, TickerOptions{Period: time.Millisecond, Stack: 8 << 10, Kernel: true})
	g := ptest.Start(t, "dd", "if=/dev/zero", "of=/dev/null", "bs=1M")
	want(t, c, g.PID)
	inSystemCall := func(k *Record) bool {
		code := make([]byte, 2)
		n, err := readMemory(g.PID, code, k.Regs[recordIP]-2)
		return err == nil && n == 2 && k.InKernel && binary.LittleEndian.Uint16(code) == 0x050f
	}
	for !inSystemCall(&collect(t, c, g.PID, Tick, 1)[0]) { // it may still be loading
	}
	inCall, chains := 0, 0
	ticks := collect(t, c, g.PID, Tick, 200)
	for i := range ticks {
		if k := &ticks[i]; inSystemCall(k) {
			inCall++
			if len(k.KernelChain) > 2 && k.KernelChain[0] > 1<<63 {
				chains++
			}
		}
	}
	if inCall < 100 || chains < inCall*9/10 {
		t.Errorf("%d of 200 ticks of dd are in a system call, %d with the chain there", inCall, chains)
	}
}

// readMemory reads memory of another process.
func readMemory(pid int, b []byte, addr uint64) (int, error) {
	return unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}},
		[]unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, 0)
}

// TestTickerTellsOfProcesses: records of births of threads and processes, of execs and of ends come in order.
func TestTickerTellsOfProcesses(t *testing.T) {
	c := openTicker(t, TickerOptions{Period: 10 * time.Millisecond, Stack: 0})
	cmd := exec.Command("sh", "-c", "/bin/true; exec /bin/sleep 0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var told []string
	child := 0
	for deadline := time.Now().Add(30 * time.Second); !slices.Contains(told, "exit") && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		c.Read(func(r *Record) {
			switch {
			case r.Kind == Fork && r.Parent == pid && r.PID != pid:
				child = r.PID
				told = append(told, "child")
			case r.PID == child && child != 0 && (r.Kind == Exec || r.Kind == Exit):
				told = append(told, "child's "+r.Kind.String())
			case r.PID == pid && r.Kind != Name:
				told = append(told, r.Kind.String())
			}
		})
	}
	want := []string{"fork", "exec", "child", "child's exec", "child's exit", "exec", "exit"}
	if !slices.Equal(told, want) {
		t.Errorf("told of %q, not %q", told, want)
	}
}

// TestDrop: a process that is not wanted any more is not sampled.
func TestDrop(t *testing.T) {
	c := openTicker(t, TickerOptions{Period: time.Millisecond, Stack: 0})
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"))
	g.Ready()
	want(t, c, g.PID)
	collect(t, c, g.PID, Tick, 10)
	c.Drop(g.PID)
	c.Read(func(*Record) {})
	for begun := used(t, g.PID); used(t, g.PID)-begun < 50*time.Millisecond; {
		time.Sleep(time.Millisecond)
	}
	n := 0
	c.Read(func(r *Record) {
		if r.Kind == Tick {
			n++
		}
	})
	if n > 1 {
		t.Errorf("%d ticks of a process that is not wanted", n)
	}
}

// TestTickerErrors: there are errors for a process that does not exist, for a missing period, and for a stack that is
// too large.
func TestTickerErrors(t *testing.T) {
	c := openTicker(t, TickerOptions{Period: time.Millisecond})
	if err := c.Want(1<<22 + 1); !errors.Is(err, unix.ESRCH) {
		t.Errorf("a process that is none is wanted: %v", err)
	}
	if _, err := OpenTicker(TickerOptions{}); err == nil {
		t.Error("a ticker without a period")
	}
	if _, err := OpenTicker(TickerOptions{Period: 1, Stack: MaxStack + 1}); err == nil {
		t.Error("a stack that is too large")
	}
}

// TestHostileChain: a word on the target's stack may look like the beginning of the kernel's part of a chain. The
// words after it are not taken for addresses of the kernel.
func TestHostileChain(t *testing.T) {
	for _, c := range []struct {
		words        []uint64
		user, kernel []uint64
	}{
		{[]uint64{contextUser, 0x1000, 0x1001, 0x1002}, []uint64{0x1001, 0x1002}, nil},
		{[]uint64{contextUser, 0x1000, 0x1001, contextKernel, 0x1002}, []uint64{0x1001}, nil},
		{[]uint64{contextKernel, 1 << 63, 1<<63 + 1, contextUser, 0x1000, 0x1001, contextKernel, 0x1002}, []uint64{0x1001}, []uint64{1 << 63, 1<<63 + 1}},
		{[]uint64{contextUser, 0x1000, contextUser, 0x1002, ^uint64(0)}, nil, nil},
		{nil, nil, nil},
	} {
		r := &ring{buf: make([]byte, 256)}
		for i, w := range c.words {
			binary.NativeEndian.PutUint64(r.buf[sampleChain+8+8*i:], w)
		}
		var k Record
		r.chains(&k, uint64(len(c.words)))
		if len(k.Chain)+len(c.user) > 0 && !slices.Equal(k.Chain, c.user) || !slices.Equal(k.KernelChain, c.kernel) {
			t.Errorf("%#x: %#x and %#x in the kernel", c.words, k.Chain, k.KernelChain)
		}
	}
}

// TestParseCPUs reads the kernel's lists.
func TestParseCPUs(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "0-2": {0, 1, 2}, "0-1,4,6-7": {0, 1, 4, 6, 7}} {
		if got, err := parseCPUs(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"", "a", "2-1", "-1", "0-99999999"} {
		if got, err := parseCPUs(list); err == nil {
			t.Errorf("%q: %v", list, got)
		}
	}
}

// TestDrawPeriod: a tick counts as much time as it has, on average: ticks come once in each period that is drawn, and the
// last of those is cut short at a random moment.
func TestDrawPeriod(t *testing.T) {
	const period, stretches = time.Millisecond, 100_000
	random := rand.New(rand.NewPCG(1, 2)).Int64N
	var ticks, passed time.Duration
	for range stretches {
		drawn := drawPeriod(period, random)
		if drawn < period*3/4 || drawn > period*5/4 {
			t.Fatalf("a period of %v", drawn)
		}
		length := redrawAfter*period + time.Duration(random(int64(4*period)))
		ticks += length / drawn
		passed += length
	}
	if off := float64(ticks*period)/float64(passed) - 1; off < -0.02 || off > 0.02 {
		t.Errorf("ticks are off by %.1f %%", 100*off)
	}
	if drawPeriod(1, random) < 0 {
		t.Error("a negative period")
	}
}
