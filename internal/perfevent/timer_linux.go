package perfevent

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Timer samples one thread each time that it has used another period of processor
// time: the timer interrupt of its processor copies its registers and the top of its
// stack into memory that we share with the kernel. Nobody is stopped or woken. A
// Timer belongs to one goroutine.
//
// The samples stop at an exec. Their moments are those of the timer, whatever the thread
// does; of a thread that is in the kernel then, they show what it entered it with.
type Timer struct {
	fd   int
	mem  []byte // the control page and the ring
	page *unix.PerfEventMmapPage
	ring []byte
	tail uint64
}

// TimerRegs is how many registers a Tick has, by the numbers of
// arch/x86/include/uapi/asm/perf_regs.h less the segments that the kernel refuses.
const TimerRegs = 20

// timerRegs selects all registers but DS, ES, FS and GS.
const timerRegs = 0xff0fff

// Tick is one sample of a Timer.
type Tick struct {
	Regs   [TimerRegs]uint64 // AX BX CX DX SI DI BP SP IP FLAGS CS SS R8 … R15
	Kernel bool              // the thread was in the kernel
	Stack  []byte            // from the stack pointer upwards
	// Chain is the return addresses that the kernel has found by following the frame pointers
	// from BP on, in whatever memory: from each frame the word above it, and on to where the
	// frame itself points. It ends where that cannot be read, or after
	// kernel.perf_event_max_stack addresses.
	Chain []uint64
}

// MaxTimerStack is the most that a sample has of a stack: its length is a number of 16
// bits, and the registers and the chain take their part.
const MaxTimerStack = 64000

// heldTicks is how many samples fit in between two visits at least.
const heldTicks = 7

var errOddPeriod = fmt.Errorf("period of a timer: %w", unix.EINVAL)

// Timers is the readiness of the kernel for them: where nobody has used a perf event for a
// while, the first one waits for a grace period.
type Timers struct{ fd int }

// OpenTimers finds out whether this program may use Timers, and has the kernel stay ready
// for them. It needs CAP_PERFMON, or kernel.perf_event_paranoid of at most 1
// (perf_event_open(2)), and Linux 5.13. It may take tens of milliseconds.
func OpenTimers() (*Timers, error) {
	attr := timerAttr(time.Second, 0)
	attr.Bits |= unix.PerfBitDisabled
	fd, err := unix.PerfEventOpen(attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	switch err {
	case nil:
		return &Timers{fd}, nil
	case unix.EACCES, unix.EPERM:
		return nil, fmt.Errorf("timers need root, CAP_PERFMON or kernel.perf_event_paranoid of at most 1: %w", err)
	}
	return nil, fmt.Errorf("perf events: %w", err)
}

// Close gives up the readiness. Timers that are open stay so.
func (s *Timers) Close() error { return unix.Close(s.fd) }

// Open starts a Timer on a thread. stack is how many bytes of the stack are copied, at
// most [MaxTimerStack]. The caller needs the right to trace the thread.
func (s *Timers) Open(tid int, period time.Duration, stack int) (*Timer, error) {
	t, err := openTimer(tid, period, stack)
	if err != nil {
		return nil, fmt.Errorf("perf event of thread %d: %w", tid, err)
	}
	return t, nil
}

func openTimer(tid int, period time.Duration, stack int) (*Timer, error) {
	if period <= 0 {
		return nil, errOddPeriod
	}
	fd, err := unix.PerfEventOpen(timerAttr(period, stack), tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	size := ringSize(stack)
	mem, err := unix.Mmap(fd, 0, os.Getpagesize()+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Timer{
		fd: fd, mem: mem, ring: mem[os.Getpagesize():],
		page: (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0])),
	}, nil
}

// timerAttr describes a timer to the kernel.
func timerAttr(period time.Duration, stack int) *unix.PerfEventAttr {
	const removeOnExec = 1 << 36
	return &unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: uint64(period),
		Sample_type:       unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER,
		Sample_regs_user:  timerRegs,
		Sample_stack_user: uint32(min(max(stack, 8), MaxTimerStack) &^ 7),
		Bits:              unix.PerfBitWatermark | unix.PerfBitExcludeCallchainKernel | removeOnExec,
		Wakeup:            uint32(ringSize(stack)), // nobody waits
	}
}

// ringSize is the power of two that holds heldTicks samples.
func ringSize(stack int) int {
	const header = 512 // and more than enough for the registers and a chain of 30
	return max(1<<bits.Len(uint(heldTicks*(stack+header)-1)), os.Getpagesize())
}

// TimerMemory is what a timer takes of the kernel's memory, in bytes.
func TimerMemory(stack int) int { return os.Getpagesize() + ringSize(stack) }

// Next takes the oldest sample there is. k.Stack must have the length to copy at most, and
// is cut to what there is.
func (t *Timer) Next(k *Tick) bool {
	head := atomic.LoadUint64(&t.page.Data_head)
	for t.tail < head {
		kind, misc, size := t.header()
		ok := kind == unix.PERF_RECORD_SAMPLE && t.parse(k, size)
		k.Kernel = misc&unix.PERF_RECORD_MISC_CPUMODE_MASK == unix.PERF_RECORD_MISC_KERNEL
		t.tail += uint64(size)
		if size == 0 {
			t.tail = head // not what this kernel writes
		}
		atomic.StoreUint64(&t.page.Data_tail, t.tail)
		if ok {
			return true
		}
	}
	return false
}

// header reads the header of the record at tail (struct perf_event_header).
func (t *Timer) header() (kind uint32, misc, size uint16) {
	word := t.word(0)
	return uint32(word), uint16(word >> 32), uint16(word >> 48)
}

// parse reads the sample at tail: 8 bytes of header; the length of the chain, and the chain;
// what the registers are of, and they; the length that the stack's room has, the room, and
// how much of it is used. A thread without user registers has none of this.
func (t *Timer) parse(k *Tick, size uint16) bool {
	const chainAt, abi64 = 8, 2 // PERF_SAMPLE_REGS_ABI_64
	n := t.word(chainAt)
	if n > uint64(size)/8 {
		return false
	}
	abiAt := chainAt + 8 + 8*n
	regsAt := abiAt + 8
	roomAt := regsAt + 8*TimerRegs
	stackAt := roomAt + 8
	if uint64(size) < stackAt || t.word(abiAt) != abi64 {
		return false
	}
	k.Chain = k.Chain[:0]
	for i := range n {
		if addr := t.word(chainAt + 8 + 8*i); addr < contextMax {
			k.Chain = append(k.Chain, addr)
		}
	}
	if len(k.Chain) > 0 {
		k.Chain = k.Chain[1:] // the program counter
	}
	for i := range k.Regs {
		k.Regs[i] = t.word(regsAt + uint64(i)*8)
	}
	used, room := uint64(0), t.word(roomAt)
	if room > 0 && stackAt+room+8 <= uint64(size) {
		used = min(t.word(stackAt+room), room)
	}
	k.Stack = k.Stack[:min(uint64(len(k.Stack)), used)]
	at := (t.tail + stackAt) & uint64(len(t.ring)-1)
	copied := copy(k.Stack, t.ring[at:])
	copy(k.Stack[copied:], t.ring)
	return true
}

// contextMax is PERF_CONTEXT_MAX: from there on a word of a chain says whose addresses follow,
// which are always the user's.
const contextMax = ^uint64(4095 - 1)

// word reads the word that is off behind tail. Records and words are aligned to 8 bytes.
func (t *Timer) word(off uint64) uint64 {
	return binary.NativeEndian.Uint64(t.ring[(t.tail+off)&uint64(len(t.ring)-1):])
}

// SetPeriod changes the period, which begins anew. A thread that runs is interrupted for it, for
// some microseconds.
func (t *Timer) SetPeriod(period time.Duration) {
	ns := uint64(period)
	// It fails for a period of zero only.
	unix.Syscall(unix.SYS_IOCTL, uintptr(t.fd), unix.PERF_EVENT_IOC_PERIOD, uintptr(unsafe.Pointer(&ns)))
}

// Close ends the sampling.
func (t *Timer) Close() error {
	err := unix.Munmap(t.mem)
	if e := unix.Close(t.fd); err == nil {
		err = e
	}
	return err
}
