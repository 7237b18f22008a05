package perfevent

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Signals stop the threads of a process, those that there are and those that
// come, at a number of instructions of one file: with a SIGTRAP to the thread
// that is queued when it reaches the instruction, and arrives when the kernel has
// executed that. Unlike an event's, the hit comes with the registers from before
// the instruction. The signal is an ordinary one of the kernel's (si_code
// SI_KERNEL): a thread that ignores it runs on, and ptrace reports it all the
// same. The methods belong to one goroutine at a time.
type Signals struct {
	link, hits int
	key        uint32 // Take's: the kernel is given addresses of these,
	hit        Hit    // which must not be on a stack, since that can move
}

// Offsets from the frame pointer of the program's variables.
const (
	varKey  = -4   // the thread, which is the map's key
	varPID  = -16  // struct bpf_pidns_info: thread, process
	varHit  = -192 // the Hit
	varRegs = varHit + 8
)

// signalProgram puts the thread's registers in the map and signals it. The thread
// is known by its number in our PID namespace, which dev and ino name; a process
// outside it is left alone.
func signalProgram(mapFD int, dev, ino uint64) []instruction {
	p := []instruction{
		{op: bpfMovReg, dst: 6, src: 1}, // the context: struct pt_regs
		{op: bpfLoad64, dst: 1, imm: int32(dev)}, {imm: int32(dev >> 32)},
		{op: bpfLoad64, dst: 2, imm: int32(ino)}, {imm: int32(ino >> 32)},
		{op: bpfMovReg, dst: 3, src: 10},
		{op: bpfAddImm, dst: 3, imm: varPID},
		{op: bpfMovImm, dst: 4, imm: 8},
		{op: bpfCall, imm: helperNSPIDTGID},
		{op: bpfJumpEq, dst: 0, off: 2},
		{op: bpfMovImm, dst: 0},
		{op: bpfExit},
		{op: bpfLoadW, dst: 1, src: 10, off: varPID},
		{op: bpfStoreW, dst: 10, src: 1, off: varKey},
		{op: bpfMovReg, dst: 1, src: 6},
		{op: bpfCall, imm: helperAttachCookie},
		{op: bpfStoreDW, dst: 10, src: 0, off: varHit},
	}
	for i := range int16(numRegs) {
		p = append(p, instruction{op: bpfLoadDW, dst: 1, src: 6, off: 8 * i},
			instruction{op: bpfStoreDW, dst: 10, src: 1, off: varRegs + 8*i})
	}
	return append(p, []instruction{
		{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(mapFD)}, {},
		{op: bpfMovReg, dst: 2, src: 10},
		{op: bpfAddImm, dst: 2, imm: varKey},
		{op: bpfMovReg, dst: 3, src: 10},
		{op: bpfAddImm, dst: 3, imm: varHit},
		{op: bpfMovImm, dst: 4},
		{op: bpfCall, imm: helperMapUpdate},
		{op: bpfJumpNe, dst: 0, off: 2}, // no room: the thread is not stopped
		{op: bpfMovImm, dst: 1, imm: int32(unix.SIGTRAP)},
		{op: bpfCall, imm: helperSendSignalThread},
		{op: bpfMovImm, dst: 0},
		{op: bpfExit},
	}...)
}

// maxThreads bounds how many threads can be stopped at once.
const maxThreads = 1 << 16

// newHash makes a table of hits by thread, whose memory is taken as it fills.
func newHash() (int, error) {
	attr := struct{ kind, keySize, valueSize, entries, flags uint32 }{
		unix.BPF_MAP_TYPE_HASH, 4, uint32(unsafe.Sizeof(Hit{})), maxThreads, unix.BPF_F_NO_PREALLOC,
	}
	return bpf(unix.BPF_MAP_CREATE, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

// OpenSignals starts to signal the threads of process pid at the offsets of the
// file. Errors are those of [OpenCounters].
func OpenSignals(path string, offs []uint64, pid int) (*Signals, error) {
	if len(offs) == 0 {
		return nil, unix.EINVAL
	}
	s, err := openSignals(path, offs, pid)
	if err != nil {
		return nil, fmt.Errorf("uprobes in %s: %w", path, err)
	}
	return s, nil
}

func openSignals(path string, offs []uint64, pid int) (*Signals, error) {
	var ns unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &ns); err != nil {
		return nil, os.NewSyscallError("stat of PID namespace", err)
	}
	hits, err := newHash()
	if err != nil {
		return nil, err
	}
	program, err := loadProgram(signalProgram(hits, ns.Dev, ns.Ino))
	if err == nil {
		defer unix.Close(program) // the link keeps it
		var link int
		if link, err = linkProbes(program, path, slices.Clone(offs), pid); err == nil {
			return &Signals{link: link, hits: hits}, nil
		}
	}
	unix.Close(hits)
	return nil, err
}

// Take returns the hit that thread tid has been signalled for, and forgets it;
// nil if there is none: the signal is somebody else's. The result is good until
// the next call.
func (s *Signals) Take(tid int) *Hit {
	s.key = uint32(tid)
	attr := struct {
		fd         uint32
		_          uint32
		key, value uint64
		flags      uint64
	}{fd: uint32(s.hits), key: pointer(unsafe.Pointer(&s.key)), value: pointer(unsafe.Pointer(&s.hit))}
	_, _, e := unix.RawSyscall(unix.SYS_BPF, unix.BPF_MAP_LOOKUP_AND_DELETE_ELEM, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	runtime.KeepAlive(s)
	if e != 0 {
		return nil
	}
	return &s.hit
}

// Close lifts all probes. It blocks for a grace period; see [Closer]. Hits that
// were not taken are forgotten, but their signals arrive.
func (s *Signals) Close() error {
	err := unix.Close(s.link)
	unix.Close(s.hits)
	if err != nil {
		return fmt.Errorf("close of uprobes: %w", err)
	}
	return nil
}
