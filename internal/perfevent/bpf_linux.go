package perfevent

import (
	"encoding/binary"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
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
	bpfCall    = 0x85
	bpfExit    = 0x95
	bpfMovReg  = 0xbf
	bpfMovImm  = 0xb7
	bpfAddImm  = 0x07
	bpfStoreW  = 0x63
	bpfStoreDW = 0x7b
	bpfLoadW   = 0x61
	bpfLoadDW  = 0x79
	bpfJumpNe  = 0x55
	bpfLoad64  = 0x18 // of two instructions' size; src says what imm is
	bpfJumpEq  = 0x15
	bpfAtomic  = 0xdb // of 64 bits; imm 0 is add
)

// Helper functions of the kernel.
const (
	helperMapLookup        = 1
	helperMapUpdate        = 2
	helperSendSignalThread = 117
	helperNSPIDTGID        = 120
	helperAttachCookie     = 174
)

// countProgram adds one to the element of the map whose index is the cookie of
// the instruction that was reached.
func countProgram(mapFD int) []instruction {
	return []instruction{
		{op: bpfCall, imm: helperAttachCookie},
		{op: bpfStoreW, dst: 10, src: 0, off: -4},
		{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(mapFD)},
		{},
		{op: bpfMovReg, dst: 2, src: 10},
		{op: bpfAddImm, dst: 2, imm: -4},
		{op: bpfCall, imm: helperMapLookup},
		{op: bpfJumpEq, dst: 0, off: 2},
		{op: bpfMovImm, dst: 1, imm: 1},
		{op: bpfAtomic, dst: 0, src: 1},
		{op: bpfMovImm, dst: 0},
		{op: bpfExit},
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

// newArray makes an array of n 64-bit numbers that can be mapped.
func newArray(n int) (int, error) {
	attr := struct{ kind, keySize, valueSize, entries, flags uint32 }{
		unix.BPF_MAP_TYPE_ARRAY, 4, 8, uint32(n), unix.BPF_F_MMAPABLE,
	}
	return bpf(unix.BPF_MAP_CREATE, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

// license is what the kernel wants to hear; none of the helpers used cares.
var license = []byte("BSD\x00")

// loadProgram loads a program for uprobe_multi links.
func loadProgram(program []instruction) (int, error) {
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
	}{
		kind: unix.BPF_PROG_TYPE_KPROBE, count: uint32(len(program)),
		code: pointer(unsafe.Pointer(&code[0])), license: pointer(unsafe.Pointer(&license[0])),
		name: [16]byte{'p', 't', 'o', 'o', 'l', 's'}, expected: unix.BPF_TRACE_UPROBE_MULTI,
	}
	fd, err := bpf(unix.BPF_PROG_LOAD, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	runtime.KeepAlive(code)
	return fd, err
}

// linkProbes attaches a program to offsets of a file in one process, with the
// offsets' indices as cookies.
func linkProbes(program int, path string, offs []uint64, pid int) (int, error) {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	cookies := make([]uint64, len(offs))
	for i := range cookies {
		cookies[i] = uint64(i)
	}
	attr := struct {
		program, target, attach, flags uint32
		path, offs, refs, cookies      uint64
		count, multiFlags, pid, _      uint32
	}{
		program: uint32(program), attach: unix.BPF_TRACE_UPROBE_MULTI,
		path: pointer(unsafe.Pointer(name)), offs: pointer(unsafe.Pointer(&offs[0])),
		cookies: pointer(unsafe.Pointer(&cookies[0])), count: uint32(len(offs)), pid: uint32(pid),
	}
	fd, err := bpf(unix.BPF_LINK_CREATE, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	runtime.KeepAlive(name)
	runtime.KeepAlive(offs)
	runtime.KeepAlive(cookies)
	return fd, err
}
