package perfevent

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

// Numbers of registers in a Tick.
const (
	tickBP = 6
	tickSP = 7
	tickIP = 8
)

// openTimers leaves the test out where they are not allowed.
func openTimers(t *testing.T) *Timers {
	t.Helper()
	timers, err := OpenTimers()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { timers.Close() })
	return timers
}

// ticks collects samples until there are n.
func ticks(t *testing.T, timer *Timer, stack, n int) (all []Tick) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); len(all) < n; {
		k := Tick{Stack: make([]byte, stack)}
		switch {
		case timer.Next(&k):
			all = append(all, k)
		case time.Now().After(deadline):
			t.Fatalf("%d samples of %d", len(all), n)
		default:
			time.Sleep(time.Millisecond)
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

// TestTimer: a thread that spins gets a sample for each period of processor time, with the
// registers and the stack that it had, and nothing stops it. The stack ends with
// the mapping.
func TestTimer(t *testing.T) {
	timers := openTimers(t)
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"))
	g.Ready()
	const period, stack = time.Millisecond, 16 << 10
	start := time.Now()
	timer, err := timers.Open(g.PID, period, stack)
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Close()
	before := used(t, g.PID)
	all := ticks(t, timer, stack, 300)
	after, passed := used(t, g.PID), time.Since(start)
	bottom, top := mapping(t, g.PID, "[stack]")
	for i, k := range all {
		sp := k.Regs[tickSP]
		if sp < bottom || sp >= top {
			t.Fatalf("sample %d: sp %#x is not in the stack, %#x-%#x", i, sp, bottom, top)
		}
		// A page that nobody has touched yet, of those that the kernel leaves out at random
		// below the strings, ends it too.
		if want, got := min(stack, top-sp), uint64(len(k.Stack)); got != want && (got == 0 || got > want || (sp+got)%4096 != 0) {
			t.Errorf("sample %d: %d bytes of the stack from %#x to %#x", i, got, sp, top)
		}
		if !k.Kernel && k.Regs[tickIP] == 0 {
			t.Errorf("sample %d: no program counter", i)
		}
	}
	// What is above the frame of main does not change.
	last := all[len(all)-1]
	tail := last.Stack[len(last.Stack)-256:]
	now := make([]byte, len(tail))
	if n, err := readMemory(g.PID, now, last.Regs[tickSP]+uint64(len(last.Stack)-len(tail))); n != len(now) || !bytes.Equal(tail, now) {
		t.Errorf("the stack ends in %x, which is %x, %v", tail, now, err)
	}
	t.Logf("%d samples of %v in %v of processor time", len(all), period, after-before)
	// The event's clock goes on while the hypervisor runs something else, that of the
	// scheduler does not.
	if n := int(passed / period); len(all) > n+1 {
		t.Errorf("%d samples in %v", len(all), passed)
	}
}

// TestTimerChain: the kernel follows frame pointers from one stack to another.
func TestTimerChain(t *testing.T) {
	timers := openTimers(t)
	g := ptest.Start(t, ptest.BuildC(t, "testdata/switched.c", "-fno-omit-frame-pointer"))
	g.Ready()
	const stack = 4 << 10
	timer, err := timers.Open(g.PID, time.Millisecond, stack)
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Close()
	bottom, top := mapping(t, g.PID, "[stack]")
	word := func(addr uint64) uint64 {
		var b [8]byte
		if n, err := readMemory(g.PID, b[:], addr); n != len(b) {
			t.Fatalf("word at %#x: %v", addr, err)
		}
		return binary.LittleEndian.Uint64(b[:])
	}
	other := 0
	for i, k := range ticks(t, timer, stack, 100) {
		if sp := k.Regs[tickSP]; sp >= bottom && sp < top {
			continue // it has just begun
		}
		other++
		outer := word(k.Regs[tickBP])
		if outer < bottom || outer >= top {
			t.Fatalf("sample %d: the frame pointer leads to %#x, not into %#x-%#x", i, outer, bottom, top)
		}
		if want := []uint64{word(k.Regs[tickBP] + 8), word(outer + 8)}; len(k.Chain) < 2 || !slices.Equal(k.Chain[:2], want) {
			t.Errorf("sample %d: %#x, not %#x", i, k.Chain, want)
		}
	}
	if other < 50 {
		t.Errorf("%d of 100 samples are on the other stack", other)
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

// TestTimerUnread: what does not fit is lost, and what comes after it is whole.
func TestTimerUnread(t *testing.T) {
	timers := openTimers(t)
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"))
	g.Ready()
	const stack = 8 << 10
	timer, err := timers.Open(g.PID, 100*time.Microsecond, stack)
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Close()
	for begun := used(t, g.PID); used(t, g.PID)-begun < 50*time.Millisecond; {
		time.Sleep(time.Millisecond)
	}
	held := 0
	for k := (Tick{Stack: make([]byte, stack)}); held < 100 && timer.Next(&k); k.Stack = make([]byte, stack) {
		held++
	}
	if held < heldTicks || held > 50 {
		t.Errorf("%d samples were held of some 500", held)
	}
	bottom, top := mapping(t, g.PID, "[stack]")
	for _, k := range ticks(t, timer, stack, 100) {
		if sp := k.Regs[tickSP]; sp < bottom || sp >= top {
			t.Fatalf("sp %#x after a loss", sp)
		}
	}
}

// TestTimerInSystemCall: of a thread in the kernel a sample has what it entered it with; the
// program counter is behind the instruction.
func TestTimerInSystemCall(t *testing.T) {
	timers := openTimers(t)
	g := ptest.Start(t, "dd", "if=/dev/zero", "of=/dev/null", "bs=1M")
	timer, err := timers.Open(g.PID, time.Millisecond, 8<<10)
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Close()
	inCall := 0
	for _, k := range ticks(t, timer, 8<<10, 200) {
		code := make([]byte, 2)
		if n, err := readMemory(g.PID, code, k.Regs[tickIP]-2); err == nil && n == 2 && k.Kernel &&
			binary.LittleEndian.Uint16(code) == 0x050f {
			inCall++
		}
	}
	if inCall < 100 {
		t.Errorf("%d of 200 samples of dd are in a system call", inCall)
	}
}

// readMemory reads memory of another process.
func readMemory(pid int, b []byte, addr uint64) (int, error) {
	return unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}},
		[]unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, 0)
}

// TestTimerEndsAtExec: the next program is not sampled by the timer of the one before.
func TestTimerEndsAtExec(t *testing.T) {
	timers := openTimers(t)
	g := ptest.Start(t, "sh", "-c", "read x; exec sh -c 'while :; do :; done'")
	timer, err := timers.Open(g.PID, time.Millisecond, 8<<10)
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Close()
	g.Stdin.Write([]byte("\n"))
	g.WaitFor("work of the second program", func() bool { return used(t, g.PID) > 100*time.Millisecond })
	n := 0
	for k := (Tick{Stack: make([]byte, 8<<10)}); timer.Next(&k); k.Stack = make([]byte, 8<<10) {
		n++
	}
	if n > heldTicks/2 {
		t.Errorf("%d samples, some of them of the second program", n)
	}
}

// TestTimerErrors: no thread, no period.
func TestTimerErrors(t *testing.T) {
	timers := openTimers(t)
	if _, err := timers.Open(1<<22+1, time.Millisecond, 8<<10); err == nil {
		t.Error("a timer of a thread that is none")
	}
	if _, err := timers.Open(0, 0, 8<<10); err == nil {
		t.Error("a timer without a period")
	}
}
