package perfevent

import (
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A pager has pages of memory copied with the samples of some threads. A sample has the memory above its stack pointer and
// no other: a thread that has changed stacks, or has large frames, has its callers elsewhere. Where they are cannot be known in
// the interrupt, but it is mostly where the samples before have shown it.
//
// The BPF program of the filter looks up the thread in the table wanted. It copies the pages that stand there to an event
// of their own (PERF_COUNT_SW_BPF_OUTPUT), which writes to the same buffer, in the same interrupt, right before the
// sample. So pages belong to the sample if its record is the next one. A record that is lost between them is reported by another
// one, which then follows the pages (perf_output_begin in kernel/events/ring_buffer.c).
type pager struct {
	wanted  int // table of pages, by the thread
	scratch int // what a processor writes
	events  int // the events, by the processor

	mu     sync.Mutex
	opened bool // the events are there
	closed bool
	fds    []int // of the events
}

// mostWatched is how many threads can have pages. The least recently used give way.
const mostWatched = 1024

// wantedPages is a value of the table wanted. Addresses beyond n are 0.
type wantedPages struct {
	n     uint64
	addrs [MostPages]uint64
}

// The value of scratch, from the mark on, is what an event has. The kernel writes the size in front of the
// mark, and the two make one word that is no length of a chain.
const (
	scratchMark  = 4
	scratchAddrs = 8
	scratchPages = 64
	scratchSize  = scratchPages + MostPages*PageSize
	pagesMark    = 0xffffffff
	anyCPU       = 0xffffffff // BPF_F_CURRENT_CPU

	helperPerfOutput = 25
	bpfStoreImmW     = 0x62
	bpfStoreImmDW    = 0x7a
)

// newPager makes the tables, for processors below cpus.
func newPager(cpus int) (p *pager, err error) {
	p = &pager{wanted: -1, scratch: -1, events: -1}
	made := p
	defer func() {
		if err != nil {
			made.close()
		}
	}()
	if p.wanted, err = newMap(unix.BPF_MAP_TYPE_LRU_HASH, unsafe.Sizeof(wantedPages{}), mostWatched, 0); err != nil {
		return nil, err
	}
	if p.scratch, err = newMap(unix.BPF_MAP_TYPE_PERCPU_ARRAY, scratchSize, 1, 0); err != nil {
		return nil, err
	}
	p.events, err = newMap(unix.BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, uint32(cpus), 0)
	return p, err
}

// program is the part of the filter's program that copies pages. The context is in register 6.
func (p *pager) program(ours pidNamespace) []instruction {
	var a assembly
	a.add(keyNumber(ofThread, ours)...)
	a.add(find(p.wanted)...)
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "keep")
	a.add(
		instruction{op: bpfMovReg, dst: 7, src: 0},
		instruction{op: bpfMovImm, dst: 1},
		instruction{op: bpfStoreW, dst: 10, src: 1, off: varKey},
	)
	a.add(find(p.scratch)...)
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "keep")
	a.add(
		instruction{op: bpfMovReg, dst: 8, src: 0},
		instruction{op: bpfStoreImmW, dst: 8, off: scratchMark, imm: -1},
	)
	for i := range int16(MostPages) {
		a.add(
			instruction{op: bpfStoreImmDW, dst: 8, off: scratchAddrs + 8*i},
			instruction{op: bpfLoadDW, dst: 9, src: 7, off: 8 + 8*i},
		)
		a.jump(instruction{op: bpfJumpEq, dst: 9}, "next")
		a.add(
			instruction{op: bpfMovReg, dst: 1, src: 8},
			instruction{op: bpfAddImm, dst: 1, imm: scratchPages + PageSize*int32(i)},
			instruction{op: bpfMovImm, dst: 2, imm: PageSize},
			instruction{op: bpfMovReg, dst: 3, src: 9},
			instruction{op: bpfCall, imm: helperReadUser},
		)
		a.jump(instruction{op: bpfJumpNe, dst: 0}, "next")
		a.add(instruction{op: bpfStoreDW, dst: 8, src: 9, off: scratchAddrs + 8*i})
		a.mark("next")
	}
	a.add(instruction{op: bpfLoadDW, dst: 5, src: 7})
	a.jump(instruction{op: bpfJumpGT, dst: 5, imm: MostPages}, "keep")
	a.add(
		instruction{op: bpfLeftImm, dst: 5, imm: 12},
		instruction{op: bpfAddImm, dst: 5, imm: scratchPages - scratchMark},
		instruction{op: bpfMovReg, dst: 1, src: 6},
		instruction{op: bpfLoad64, dst: 2, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(p.events)}, instruction{},
		instruction{op: bpfLoad64, dst: 3, imm: -1}, instruction{}, // the upper half is 0
		instruction{op: bpfMovReg, dst: 4, src: 8},
		instruction{op: bpfAddImm, dst: 4, imm: scratchMark},
		instruction{op: bpfCall, imm: helperPerfOutput}, // fails before the events are there
	)
	a.mark("keep")
	return a.code
}

// Watch has pages of memory copied with the samples of a thread from now on, at most MostPages, instead of those of an earlier
// call. Those that are not in memory are left out. It may be called from any goroutine. It does nothing where the kernel lacks it.
func (c *Ticker) Watch(tid int, pages []uint64) {
	p := c.filter.pager
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if !p.opened {
		p.opened = true
		p.open(c.rings)
	}
	words := &struct {
		wantedPages
		tid uint32
	}{tid: uint32(tid)}
	words.n = uint64(copy(words.addrs[:], pages))
	update(p.wanted, unsafe.Pointer(&words.tid), unsafe.Pointer(words))
	runtime.KeepAlive(words)
}

// update sets the value of a key. Both must not be on a stack.
func update(table int, key, value unsafe.Pointer) {
	call := &mapCall{fd: uint32(table), key: pointer(key), value: pointer(value)}
	unix.RawSyscall(unix.SYS_BPF, unix.BPF_MAP_UPDATE_ELEM, uintptr(unsafe.Pointer(call)), unsafe.Sizeof(*call))
}

// open opens an event on each processor, which writes to the buffer of the sampling one. A processor for which that fails has no
// pages.
func (p *pager) open(rings []*ring) {
	attr := &unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_BPF_OUTPUT, Sample: 1,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_RAW,
		Bits:        unix.PerfBitDisabled | unix.PerfBitWatermark | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID,
		Clockid:     unix.CLOCK_MONOTONIC,
		Wakeup:      1 << 31,
	}
	for _, r := range rings {
		fd, err := unix.PerfEventOpen(attr, -1, r.cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			continue
		}
		p.fds = append(p.fds, fd)
		if unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, r.fd) != nil || unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0) != nil {
			continue
		}
		words := &struct{ cpu, fd uint32 }{uint32(r.cpu), uint32(fd)}
		update(p.events, unsafe.Pointer(&words.cpu), unsafe.Pointer(&words.fd))
		runtime.KeepAlive(words)
	}
}

func (p *pager) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	closeAll(p.fds...)
	closeAll(p.wanted, p.scratch, p.events)
}

// Offsets in a record of pages: the header, process and thread, time, size and mark, addresses, pages.
const (
	pagesWord  = 24
	pagesAddrs = pagesWord + 4 + scratchAddrs - scratchMark
	pagesData  = pagesWord + 4 + scratchPages - scratchMark
)

// hasPages reports whether the sample at tail is a record of pages.
func (r *ring) hasPages(size uint64) bool {
	return size >= pagesData && r.word(pagesWord)>>32 == pagesMark
}

// takePages keeps the pages of the record at tail.
func (r *ring) takePages(size uint64) {
	r.pages.Reset()
	_, r.owner = halves(r.word(sampleTID))
	for i := range uint64(min((size-pagesData)/PageSize, MostPages)) {
		addr := r.word(pagesAddrs + 8*i)
		if addr == 0 {
			continue // not in memory
		}
		r.pages.Addrs = append(r.pages.Addrs, addr)
		at := (r.tail + pagesData + PageSize*i) & uint64(len(r.buf)-1)
		first := min(uint64(len(r.buf))-at, PageSize)
		r.pages.Data = append(append(r.pages.Data, r.buf[at:at+first]...), r.buf[:PageSize-first]...)
	}
}
