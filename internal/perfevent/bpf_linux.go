package perfevent

import (
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"ptools/internal/ptrace"
)

// instruction is one BPF instruction (linux/bpf.h, struct bpf_insn).
type instruction struct {
	op       uint8
	src, dst uint8
	off      int16
	imm      int32
}

// Opcodes used here.
const (
	bpfCall      = 0x85
	bpfExit      = 0x95
	bpfMovReg    = 0xbf
	bpfMovImm    = 0xb7
	bpfAddImm    = 0x07
	bpfAddReg    = 0x0f
	bpfSubReg    = 0x1f
	bpfAndImm    = 0x57
	bpfLeftImm   = 0x67
	bpfRightImm  = 0x77
	bpfStoreW    = 0x63
	bpfStoreDW   = 0x7b
	bpfLoadW     = 0x61
	bpfLoadB     = 0x71
	bpfLoadDW    = 0x79
	bpfJumpNe    = 0x55 // of an immediate
	bpfLoad64    = 0x18 // takes the room of two instructions; src says what imm is
	bpfJumpEq    = 0x15
	bpfJumpEqReg = 0x1d
	bpfJumpNeReg = 0x5d
	bpfAtomic    = 0xdb // of 64 bits; imm 0 is add
)

// Helper functions of the kernel.
const (
	helperMapLookup        = 1
	helperMapUpdate        = 2
	helperMapDelete        = 3
	helperRingOutput       = 130
	helperSendSignalThread = 117
	helperTailCall         = 12
	helperPIDTGID          = 14
	helperCurrentComm      = 16
	helperNSPIDTGID        = 120
	helperAttachCookie     = 174
	helperReadUser         = 112
	helperReadKernel       = 113
	helperSeqWrite         = 127
	helperTaskRegs         = 175
	helperCurrentTask      = 158 // with its type
)

// atCookie is the beginning of a program. It ends the program, with nothing
// done, unless the program counter is the cookie of the probe: a file may be
// mapped several times. Where the cookie is 0 it goes on wherever the file is mapped. It leaves the context in register 6.
func atCookie(getCookie []instruction) []instruction {
	return append(slices.Clip(getCookie),
		instruction{op: bpfJumpEq, dst: 0, off: 2}, // everywhere
		instruction{op: bpfLoadDW, dst: 1, src: 6, off: ctxIP},
		instruction{op: bpfJumpNeReg, dst: 0, src: 1, off: toOut},
	)
}

// toOut is the offset of a jump to the end of a program, where it returns 0.
const toOut = math.MinInt16

// finish appends the end of the program, and sets the offsets of jumps to it.
func finish(p []instruction) []instruction {
	for i := range p {
		if p[i].off == toOut {
			p[i].off = int16(len(p) - i - 1)
		}
	}
	return append(p, instruction{op: bpfMovImm, dst: 0}, instruction{op: bpfExit})
}

// onTable calls a helper with a table and the key at varKey. Further arguments are in the registers from 3 on.
func onTable(helper int32, table int) []instruction {
	return []instruction{
		{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(table)}, {},
		{op: bpfMovReg, dst: 2, src: 10},
		{op: bpfAddImm, dst: 2, imm: varKey},
		{op: bpfCall, imm: helper},
	}
}

// insert puts the variable at an offset from the frame pointer into a table.
func insert(table int, variable int32) []instruction {
	return append([]instruction{
		{op: bpfMovReg, dst: 3, src: 10},
		{op: bpfAddImm, dst: 3, imm: variable},
		{op: bpfMovImm, dst: 4},
	}, onTable(helperMapUpdate, table)...)
}

// find leaves the address of a table's value, or null, in register 0.
func find(table int) []instruction { return onTable(helperMapLookup, table) }

// count adds one to a word of a map of newWords.
func count(words, word int) []instruction {
	return []instruction{
		{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_VALUE, imm: int32(words)}, {imm: int32(8 * word)},
		{op: bpfMovImm, dst: 2, imm: 1},
		{op: bpfAtomic, dst: 1, src: 2},
	}
}

// encode lays instructions out as the kernel reads them.
func encode(program []instruction) []byte {
	var b []byte
	for _, i := range program {
		b = append(b, i.op, i.src<<4|i.dst)
		b = binary.NativeEndian.AppendUint16(b, uint16(i.off))
		b = binary.NativeEndian.AppendUint32(b, uint32(i.imm))
	}
	return b
}

// pointer is a user address in an attribute of bpf(2).
func pointer(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }

// bpf makes a call of bpf(2) that returns a descriptor.
func bpf(command uintptr, attr unsafe.Pointer, size uintptr) (int, error) {
	fd, _, e := unix.Syscall(unix.SYS_BPF, command, uintptr(attr), size)
	if e != 0 {
		return -1, e
	}
	return int(fd), nil
}

// newMap makes a map with keys of 32 bits.
func newMap(kind uint32, valueSize uintptr, entries, flags uint32) (int, error) {
	attr := struct{ kind, keySize, valueSize, entries, flags uint32 }{kind, 4, uint32(valueSize), entries, flags}
	return unlocked(func() (int, error) { return bpf(unix.BPF_MAP_CREATE, unsafe.Pointer(&attr), unsafe.Sizeof(attr)) })
}

// fewWords is the number of words in a page of memory.
const fewWords = 512

// newWords makes a BPF map whose only value is an array of n 64-bit words, all zero. It maps
// the array into our memory.
func newWords(n uintptr) (fd int, mem []byte, err error) {
	if fd, err = newMap(unix.BPF_MAP_TYPE_ARRAY, 8*n, 1, unix.BPF_F_MMAPABLE); err != nil {
		return -1, nil, err
	}
	mem, err = unix.Mmap(fd, 0, int(8*n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return -1, nil, err
	}
	return fd, mem, nil
}

// license is the license of the programs. The kernel demands one that includes the GPL for programs that use its types.
var license = []byte("Dual BSD/GPL\x00")

// loadProbe loads a program for uprobe_multi links.
func loadProbe(program []instruction) (int, error) {
	return loadUprobe(program, unix.BPF_TRACE_UPROBE_MULTI)
}

// loadUprobe loads a program for uprobes. From Linux 6.13 on the variables of one with more than 64 bytes of them are in memory of the processor
// (bpf_enable_priv_stack in kernel/bpf/verifier.c), but unlike other programs it may be preempted, and run for another thread meanwhile: both then have
// the same variables. A program with a tail call has them on the thread's stack. This one is never made.
func loadUprobe(program []instruction, expected uint32) (int, error) {
	table, err := newMap(unix.BPF_MAP_TYPE_PROG_ARRAY, 4, 1, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(table)
	return loadProgram(append([]instruction{
		{op: bpfMovImm, dst: 0},
		{op: bpfJumpEq, dst: 0, off: 4},
		{op: bpfLoad64, dst: 2, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(table)}, {},
		{op: bpfMovImm, dst: 3},
		{op: bpfCall, imm: helperTailCall},
	}, program...), unix.BPF_PROG_TYPE_KPROBE, expected, 0)
}

// loadProgram loads a program of type kind. expected is the kind of its links, where the type has kinds. function is the
// number, among the kernel's types, of the kernel function that it is for, if any. The kernel gives up the check of a
// program with EAGAIN if a signal is pending for the thread (do_check in kernel/bpf/verifier.c). The signal is handled
// on the way out of the call.
func loadProgram(program []instruction, kind, expected, function uint32) (int, error) {
	code := encode(program)
	attr := struct {
		kind, count    uint32
		code, license  uint64
		logLevel       uint32
		logSize        uint32
		log            uint64
		version, flags uint32
		name           [16]byte
		ifindex        uint32
		expected       uint32
		_              [9]uint32 // types and lines of the program
		function       uint32
		_              uint32
	}{
		kind: kind, count: uint32(len(program)),
		code: pointer(unsafe.Pointer(&code[0])), license: pointer(unsafe.Pointer(&license[0])),
		name: [16]byte{'p', 't', 'o', 'o', 'l', 's'}, expected: expected, function: function,
	}
	fd, err := unlocked(func() (fd int, err error) {
		for err = unix.EAGAIN; err == unix.EAGAIN; {
			fd, err = bpf(unix.BPF_PROG_LOAD, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
		}
		return fd, err
	})
	runtime.KeepAlive(code)
	return fd, err
}

// linkProbe attaches a program to an offset of a file in one process.
func linkProbe(program int, path string, off, cookie uint64, pid int) (int, error) {
	return linkProbes(program, path, []uint64{off}, []uint64{cookie}, pid)
}

// linkProbes attaches a program to offsets of a file, each with its cookie, in one process; in all if pid is 0.
func linkProbes(program int, path string, offs, cookies []uint64, pid int) (int, error) {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	// Its addresses are those of objects on the heap, which do not move: CallApart lets them escape.
	attr := &struct {
		program, target, attach, flags uint32
		path, offs, refs, cookies      uint64
		count, multiFlags, pid, _      uint32
	}{
		program: uint32(program), attach: unix.BPF_TRACE_UPROBE_MULTI,
		path: pointer(unsafe.Pointer(name)), offs: pointer(unsafe.Pointer(&offs[0])),
		cookies: pointer(unsafe.Pointer(&cookies[0])), count: uint32(len(offs)), pid: uint32(pid),
	}
	keep := &struct {
		attr any
		name *byte
		a, b []uint64
	}{attr, name, offs, cookies}
	// A thread that is killed while it plants the trap cannot remove it either ("failed to unregister, leaking uprobe").
	fd, err := ptrace.CallApart(unix.SYS_BPF,
		[5]uintptr{unix.BPF_LINK_CREATE, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr)}, unsafe.Pointer(keep))
	runtime.KeepAlive(keep)
	if err != nil {
		return -1, err
	}
	return int(fd), nil
}
