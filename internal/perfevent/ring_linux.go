package perfevent

import (
	"encoding/binary"
	"errors"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A ring is the event of one processor and the buffer of its records.
type ring struct {
	fd       int
	cpu      int
	follow   bool         // records of ending threads are passed on, and names
	wanted   map[int]bool // processes whose records of maps are passed on; nil: all
	mem      []byte       // the control page and the buffer
	page     *unix.PerfEventMmapPage
	buf      []byte
	tail     uint64
	head     uint64 // where the present Read ends
	time     uint64 // of the record at tail
	lost     int64
	presumed int64         // of lost: the buffer was full, and the kernel reports what it has lost with the next record only
	drawn    time.Duration // when the period was set
	chars    []byte        // work space of text

	pages   Pages // of the record before the one at tail
	owner   int   // the thread that they are of
	pending bool  // that record was one of pages
}

// newRing maps the buffer of an event.
func newRing(fd, cpu, size int) (*ring, error) {
	mem, err := unix.Mmap(fd, 0, os.Getpagesize()+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &ring{
		fd: fd, cpu: cpu, mem: mem, buf: mem[os.Getpagesize():],
		page: (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0])),
	}, nil
}

// attach sets the program that decides about samples, and starts the event.
func (r *ring) attach(program int) error {
	if err := unix.IoctlSetInt(r.fd, unix.PERF_EVENT_IOC_SET_BPF, program); err != nil {
		return err
	}
	return unix.IoctlSetInt(r.fd, unix.PERF_EVENT_IOC_ENABLE, 0)
}

// setPeriod changes the period, and starts a new one.
func (r *ring) setPeriod(period time.Duration) {
	ns := uint64(period)
	// It fails for a period of zero only, and does not block (see Now).
	unix.RawSyscall(unix.SYS_IOCTL, uintptr(r.fd), unix.PERF_EVENT_IOC_PERIOD, uintptr(unsafe.Pointer(&ns)))
}

func (r *ring) close() error {
	return errors.Join(unix.Munmap(r.mem), unix.Close(r.fd))
}

// largestRecord bounds the size of a record, which is a number of 16 bits.
const largestRecord = 1 << 16

// begin sets head to the end of what there is to read now.
func (r *ring) begin() {
	r.head = atomic.LoadUint64(&r.page.Data_head)
	if r.presumed == 0 && len(r.buf) >= leastRing && r.head-r.tail > uint64(len(r.buf)-largestRecord) {
		r.lost, r.presumed = r.lost+1, 1
	}
	r.time = r.timeAt()
}

// more reports whether there is another record.
func (r *ring) more() bool { return r.tail < r.head }

// word reads the word at tail+off. Records and words are aligned to 8 bytes.
func (r *ring) word(off uint64) uint64 {
	return binary.NativeEndian.Uint64(r.buf[(r.tail+off)&uint64(len(r.buf)-1):])
}

// header reads the header of the record at tail (struct perf_event_header).
func (r *ring) header() (kind uint32, misc uint16, size uint64) {
	word := r.word(0)
	return uint32(word), uint16(word >> 32), word >> 48
}

// Offsets in a sample of tickerSample: the header, process and thread, time, the chain.
const (
	sampleTID   = 8
	sampleTime  = 16
	sampleChain = 24
)

// timeAt returns the time of the record at tail. A record that is no sample ends with the thread and
// the time (PERF_SAMPLE_TID, PERF_SAMPLE_TIME; struct sample_id).
func (r *ring) timeAt() uint64 {
	if !r.more() {
		return 0
	}
	kind, _, size := r.header()
	switch {
	case kind == unix.PERF_RECORD_SAMPLE:
		return r.word(sampleTime)
	case size >= 24:
		return r.word(size - 8)
	}
	return 0
}

// take takes the record at tail. It returns false if a Record cannot hold it.
func (r *ring) take(k *Record) bool {
	kind, misc, size := r.header()
	k.Time = time.Duration(r.time)
	ok, pages := false, false
	switch {
	case size < 8:
		r.tail = r.head // the kernel writes no such record
		return false
	case kind == unix.PERF_RECORD_SAMPLE && r.hasPages(size):
		r.takePages(size)
		pages = true
	case kind == unix.PERF_RECORD_SAMPLE:
		k.InKernel = misc&unix.PERF_RECORD_MISC_CPUMODE_MASK == unix.PERF_RECORD_MISC_KERNEL
		ok = r.sample(k, size)
		if k.Pages = nil; r.pending && r.owner == k.TID {
			k.Pages = &r.pages
		}
	case kind == unix.PERF_RECORD_FORK || kind == unix.PERF_RECORD_EXIT:
		ok = size >= 24
		r.task(k, kind)
	case kind == unix.PERF_RECORD_COMM:
		ok = size >= 16
		k.Kind = Name
		if misc&unix.PERF_RECORD_MISC_COMM_EXEC != 0 {
			k.Kind = Exec
		}
		k.PID, k.TID = halves(r.word(8))
		k.Comm = ""
		if r.follow {
			k.Comm = r.text(16, size)
		}
	case kind == unix.PERF_RECORD_MMAP2:
		pid, _ := halves(r.word(8))
		ok = size >= mapPath && (r.wanted == nil || r.wanted[pid])
		if ok {
			r.mapped(k, size)
		}
	case kind == unix.PERF_RECORD_LOST && size >= 24:
		r.lost, r.presumed = r.lost+int64(r.word(16))-r.presumed, 0
	}
	r.pending = pages
	r.tail += size
	atomic.StoreUint64(&r.page.Data_tail, r.tail)
	r.time = r.timeAt()
	return ok
}

// halves splits a word into two numbers.
func halves(w uint64) (low, high int) { return int(uint32(w)), int(uint32(w >> 32)) }

// task reads the record of a birth or an end: process, its parent, thread, its creator.
func (r *ring) task(k *Record, kind uint32) {
	k.Kind = Exit
	if kind == unix.PERF_RECORD_FORK {
		k.Kind = Fork
	}
	k.PID, k.Parent = halves(r.word(8))
	k.TID, _ = halves(r.word(16))
}

// Offsets in a record of a mapping: the header, process and thread, address, length, offset, device, inode, its
// generation, protection and flags, the path.
const (
	mapAddr = 16
	mapDev  = 40
	mapNode = 48
	mapProt = 64
	mapPath = 72
)

// mapped reads the record of a mapping (PERF_RECORD_MMAP2).
func (r *ring) mapped(k *Record, size uint64) {
	k.Kind = Map
	k.PID, k.TID = halves(r.word(8))
	major, minor := halves(r.word(mapDev))
	prot, flags := halves(r.word(mapProt))
	k.Mapped = Mapped{
		Addr: r.word(mapAddr), Len: r.word(mapAddr + 8), Off: r.word(mapAddr + 16),
		Major: uint32(major), Minor: uint32(minor), Inode: r.word(mapNode), Path: r.text(mapPath, size),
		Unprobed: prot&unix.PROT_WRITE != 0 || flags&unix.MAP_SHARED != 0,
	}
}

// text reads the text at an offset of the record at tail, which ends with a zero byte.
func (r *ring) text(from, size uint64) string {
	r.chars = r.chars[:0]
	for at := from; at < size; at++ {
		c := r.buf[(r.tail+at)&uint64(len(r.buf)-1)]
		if c == 0 {
			break
		}
		r.chars = append(r.chars, c)
	}
	return string(r.chars)
}

// contextMax is PERF_CONTEXT_MAX: a word of a chain that is not below it says which addresses follow, the kernel's or
// the user's.
const (
	contextMax    = ^uint64(4095 - 1)
	contextKernel = ^uint64(128 - 1) // PERF_CONTEXT_KERNEL
	contextUser   = ^uint64(512 - 1) // PERF_CONTEXT_USER
)

// sample reads the sample at tail. It has: process and thread; time; the length of the chain, and the chain;
// the ABI of the registers, and the registers; the length of the room for the stack, the room, and how much
// of it is used. A thread that never runs user code has no user registers, or, on older kernels, registers that are zero.
func (r *ring) sample(k *Record, size uint64) bool {
	const (
		abi32 = 1 // PERF_SAMPLE_REGS_ABI_32
		abi64 = 2 // PERF_SAMPLE_REGS_ABI_64
	)
	if size < sampleChain+8 {
		return false
	}
	n := r.word(sampleChain)
	if n > size/8 {
		return false
	}
	abiAt := sampleChain + 8 + 8*n
	regsAt := abiAt + 8
	roomAt := regsAt + 8*UserRegs
	stackAt := roomAt + 8
	k.PID, k.TID = halves(r.word(sampleTID))
	if size >= regsAt && r.word(abiAt) == 0 || size >= stackAt && r.word(regsAt+8*userPC) == 0 && r.word(regsAt+8*userSP) == 0 {
		if uint32(k.PID) == ^uint32(0) {
			return false // the thread has been waited for, and has no number any more
		}
		k.Kind = NoUser
		r.chains(k, n)
		return true
	}
	if size < stackAt || r.word(abiAt) != abi32 && r.word(abiAt) != abi64 {
		return false
	}
	k.Kind, k.Is32Bit = Tick, r.word(abiAt) == abi32
	r.chains(k, n)
	for i := range k.Regs {
		k.Regs[i] = r.word(regsAt + uint64(i)*8)
	}
	if k.Is32Bit {
		k.Chain, k.Stack = k.Chain[:0], k.Stack[:0]
		return true
	}
	used, room := uint64(0), r.word(roomAt)
	if room > 0 && stackAt+room+8 <= size {
		used = min(r.word(stackAt+room), room)
	}
	k.Stack = k.Stack[:min(uint64(len(k.Stack)), used)]
	at := (r.tail + stackAt) & uint64(len(r.buf)-1)
	copied := copy(k.Stack, r.buf[at:])
	copy(k.Stack[copied:], r.buf)
	return true
}

// chains splits the call chain into the kernel's addresses and the user's. Each part follows a word that says so. The
// first address of the user's part is the program counter. The others were found by frame pointers, and may be any word.
// So a word in the user's part that looks like the beginning of a part is none, and is no address either.
func (r *ring) chains(k *Record, n uint64) {
	k.Chain, k.KernelChain = k.Chain[:0], k.KernelChain[:0]
	context := uint64(0)
	for i := range n {
		addr := r.word(sampleChain + 8 + 8*i)
		if addr >= contextMax && context != contextUser {
			context = addr
			continue
		}
		if addr >= contextMax {
			break
		}
		switch context {
		case contextKernel:
			k.KernelChain = append(k.KernelChain, addr)
		case contextUser:
			k.Chain = append(k.Chain, addr)
		}
	}
	if len(k.Chain) > 0 {
		k.Chain = k.Chain[1:]
	}
}
