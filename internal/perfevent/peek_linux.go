package perfevent

import (
	"encoding/binary"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Peeker reads the registers and the stack of a thread while it runs on another processor. The kernel interrupts that
// processor to run a BPF program there (BPF_PROG_TEST_RUN with BPF_F_TEST_RUN_ON_CPU, Linux 5.10), which copies both.
// The thread is not stopped: it is interrupted for microseconds, as with each tick of a timer.
//
// A Peeker needs the same as [Tasks]. One goroutine at a time may use it.
type Peeker struct {
	program, table int
	mem            []byte
	peeked         Peeked
}

// Offsets in the map that the program writes to.
const (
	peekWord     = 0  // the word that was asked for
	peekFailed   = 8  // not 0: it could not be read
	peekPages    = 16 // pages of the stack that were copied
	peekRegs     = 24
	peekStack    = 4096 // the page that the red zone begins in, and those after it
	maxPeekPages = 16
	peekSize     = peekStack + (maxPeekPages+2)*4096 // the verifier assumes that the first page may be as long as two
	savedRegs    = 8 * numRegs
)

// OpenPeeker loads the program.
func OpenPeeker() (*Peeker, error) {
	pid, err := pidOffset()
	if err != nil {
		return nil, err
	}
	p := &Peeker{program: -1, table: -1}
	if err := p.open(pid); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// knownPID is the result of pidOffset, once it is known: the kernel's types are five megabytes, and stay the same.
var knownPID atomic.Pointer[int16]

// pidOffset returns where a task_struct has the number of the thread.
func pidOffset() (int16, error) {
	if known := knownPID.Load(); known != nil {
		return *known, nil
	}
	types, err := taskTypes()
	if err != nil {
		return 0, err
	}
	pid, err := types.member("task_struct", "pid")
	if err != nil {
		return 0, err
	}
	at := int16(pid.off)
	knownPID.Store(&at)
	return at, nil
}

func (p *Peeker) open(pid int16) (err error) {
	if p.table, err = newMap(unix.BPF_MAP_TYPE_ARRAY, peekSize, 1, unix.BPF_F_MMAPABLE); err != nil {
		return os.NewSyscallError("bpf(BPF_MAP_CREATE)", err)
	}
	if p.mem, err = unix.Mmap(p.table, 0, peekSize, unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	p.program, err = loadProgram(peekProgram(p.table, pid), unix.BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0)
	if err != nil {
		return os.NewSyscallError("bpf(BPF_PROG_LOAD)", err)
	}
	// This fails on a kernel that cannot run the program.
	if _, err := p.run(0, -1, 0); err != nil {
		return os.NewSyscallError("bpf(BPF_PROG_TEST_RUN)", err)
	}
	return nil
}

// peekProgram makes the program. The program's first argument is a TID, the second one the address of a word. If the
// running thread has that TID, the program copies its registers, word and stack, and returns 1.
func peekProgram(table int, pid int16) []instruction {
	p := []instruction{
		{op: bpfLoadDW, dst: 7, src: 1, off: 0},
		{op: bpfLoadDW, dst: 8, src: 1, off: 8},
		{op: bpfCall, imm: helperCurrentTask},
		{op: bpfMovReg, dst: 9, src: 0},
		{op: bpfLoadW, dst: 1, src: 9, off: pid},
		{op: bpfJumpEqReg, dst: 1, src: 7, off: 2},
		{op: bpfMovImm, dst: 0},
		{op: bpfExit},
		{op: bpfMovImm, dst: 1},
		{op: bpfStoreW, dst: 10, src: 1, off: -4},
		{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(table)}, {},
		{op: bpfMovReg, dst: 2, src: 10},
		{op: bpfAddImm, dst: 2, imm: -4},
		{op: bpfCall, imm: helperMapLookup},
		{op: bpfJumpNe, dst: 0, off: 2},
		{op: bpfMovImm, dst: 0},
		{op: bpfExit},
		{op: bpfMovReg, dst: 6, src: 0},
		// the registers
		{op: bpfMovReg, dst: 1, src: 9},
		{op: bpfCall, imm: helperTaskRegs},
		{op: bpfMovReg, dst: 3, src: 0},
		{op: bpfMovReg, dst: 1, src: 6},
		{op: bpfAddImm, dst: 1, imm: peekRegs},
		{op: bpfMovImm, dst: 2, imm: savedRegs},
		{op: bpfCall, imm: helperReadKernel},
		// the word
		{op: bpfMovReg, dst: 1, src: 6},
		{op: bpfMovImm, dst: 2, imm: 4},
		{op: bpfMovReg, dst: 3, src: 8},
		{op: bpfCall, imm: helperReadUser},
		{op: bpfStoreDW, dst: 6, src: 0, off: peekFailed},
		// the stack: from the red zone to the end of its page, then page by page
		{op: bpfMovImm, dst: 1},
		{op: bpfStoreDW, dst: 6, src: 1, off: peekPages},
		{op: bpfLoadDW, dst: 7, src: 6, off: peekRegs + savedSP},
		{op: bpfAddImm, dst: 7, imm: -redZone},
		{op: bpfMovReg, dst: 8, src: 7},
		{op: bpfAndImm, dst: 8, imm: 4095},
		{op: bpfMovReg, dst: 1, src: 6},
		{op: bpfAddImm, dst: 1, imm: peekStack},
		{op: bpfAddReg, dst: 1, src: 8},
		{op: bpfMovImm, dst: 2, imm: 4096},
		{op: bpfSubReg, dst: 2, src: 8},
		{op: bpfMovReg, dst: 3, src: 7},
		{op: bpfSubReg, dst: 7, src: 8}, // from here on the page
	}
	for page := range int32(maxPeekPages) {
		if page > 0 {
			p = append(p,
				instruction{op: bpfAddImm, dst: 7, imm: 4096},
				instruction{op: bpfMovReg, dst: 1, src: 6},
				instruction{op: bpfAddImm, dst: 1, imm: peekStack + page*4096},
				instruction{op: bpfMovImm, dst: 2, imm: 4096},
				instruction{op: bpfMovReg, dst: 3, src: 7})
		}
		p = append(p,
			instruction{op: bpfCall, imm: helperReadUser},
			instruction{op: bpfJumpEq, dst: 0, off: 2},
			instruction{op: bpfMovImm, dst: 0, imm: 1},
			instruction{op: bpfExit},
			instruction{op: bpfMovImm, dst: 1, imm: page + 1},
			instruction{op: bpfStoreDW, dst: 6, src: 1, off: peekPages})
	}
	return append(p, instruction{op: bpfMovImm, dst: 0, imm: 1}, instruction{op: bpfExit})
}

// run runs the program on a processor.
func (p *Peeker) run(cpu, tid int, word uint64) (result uint32, err error) {
	args := &[2]uint64{uint64(uint32(tid)), word}
	attr := struct {
		program, result, inSize, outSize uint32
		in, out                          uint64
		repeat, duration                 uint32
		argsSize, outArgsSize            uint32
		args, outArgs                    uint64
		flags, cpu, batch, _             uint32
	}{program: uint32(p.program), argsSize: uint32(unsafe.Sizeof(*args)), args: pointer(unsafe.Pointer(args)), flags: testRunOnCPU, cpu: uint32(cpu)}
	_, err = bpf(unix.BPF_PROG_TEST_RUN, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	runtime.KeepAlive(args)
	return attr.result, err
}

// testRunOnCPU is BPF_F_TEST_RUN_ON_CPU.
const testRunOnCPU = 1

// Peek reads a thread if it runs on the processor now, with the word at an address in its memory. It returns nil if the
// thread does not run there, or the word cannot be read.
func (p *Peeker) Peek(cpu, tid int, word uint64) *Peeked {
	if found, err := p.run(cpu, tid, word); err != nil || found != 1 {
		return nil
	}
	at := func(off int) uint64 { return binary.NativeEndian.Uint64(p.mem[off:]) }
	if at(peekFailed) != 0 {
		return nil
	}
	q := &p.peeked
	q.Word = uint32(at(peekWord))
	for i := range q.Regs {
		q.Regs[i] = at(peekRegs + 8*i)
	}
	q.Base = at(peekRegs+savedSP) - redZone
	from, pages := int(q.Base&4095), int(at(peekPages))
	if pages > maxPeekPages {
		return nil
	}
	q.Stack = p.mem[peekStack : peekStack+pages*4096]
	q.Stack = q.Stack[min(from, len(q.Stack)):]
	return q
}

// Close closes the program and its map.
func (p *Peeker) Close() error {
	if p.mem != nil {
		unix.Munmap(p.mem)
		p.mem = nil
	}
	for _, fd := range []int{p.program, p.table} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	p.program, p.table = -1, -1
	return nil
}
