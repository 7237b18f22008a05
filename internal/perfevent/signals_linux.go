package perfevent

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"ptools/internal/need"
	"ptools/internal/ptrace"
)

// Signals stops the threads of a process, new ones included, at instructions of
// files. When a thread reaches such an instruction, a signal to the thread is
// queued. It is delivered after the kernel has executed the instruction. A hit has
// the registers from before the instruction. The signal is an ordinary one from the
// kernel (si_code SI_KERNEL). ptrace reports it also where it is ignored. Without a
// tracer a thread that ignores it runs on.
//
// Take and Forget belong to one goroutine. The other methods may be called from any.
type Signals struct {
	program           *probeProgram
	hits              int
	state             int // the map of the words in mem
	words             switches
	key               uint32 // of Take: the kernel is given the addresses of key and hit,
	hit               hit    // which must not be on a stack, since a stack can move
	lookup, forgotten mapCall
}

// hit is the value that the program keeps for a thread, in the order in which it
// writes it.
type hit struct {
	count uint64 // hits of the thread
	regs  [numRegs]uint64
}

// mapCall is the argument of bpf(2) for the map commands.
type mapCall struct {
	fd         uint32
	_          uint32
	key, value uint64
	flags      uint64
}

// Offsets from the frame pointer of the program's variables.
const (
	varKey = -4  // the thread, which is the map's key
	varPID = -16 // struct bpf_pidns_info: thread, process
	varHit = varPID - int16(unsafe.Sizeof(hit{}))
)

// hitRegs is the offset of the registers in a hit.
const hitRegs = int16(unsafe.Offsetof(hit{}.regs))

// A number selects one of the numbers that the kernel has for the current thread: the TID or the PID.
type number struct {
	shift int32 // in what helperPIDTGID returns: process << 32 | thread
	off   int16 // in struct bpf_pidns_info, at varPID
}

var ofThread, ofProcess = number{0, varPID}, number{32, varPID + 4}

// keyNumber puts a number of the current thread at varKey. It is the number in the first PID namespace if that is
// ours, and otherwise the number in our namespace, which only threads of that namespace have. The program ends if the
// thread has no number.
func keyNumber(n number, ours pidNamespace) []instruction {
	if ours.ino == firstPIDNamespace {
		return []instruction{
			{op: bpfCall, imm: helperPIDTGID},
			{op: bpfRightImm, dst: 0, imm: n.shift},
			{op: bpfStoreW, dst: 10, src: 0, off: varKey},
		}
	}
	return []instruction{
		{op: bpfLoad64, dst: 1, imm: int32(ours.dev)}, {imm: int32(ours.dev >> 32)},
		{op: bpfLoad64, dst: 2, imm: int32(ours.ino)}, {imm: int32(ours.ino >> 32)},
		{op: bpfMovReg, dst: 3, src: 10},
		{op: bpfAddImm, dst: 3, imm: varPID},
		{op: bpfMovImm, dst: 4, imm: 8},
		{op: bpfCall, imm: helperNSPIDTGID},
		{op: bpfJumpNe, dst: 0, off: toOut},
		{op: bpfLoadW, dst: 1, src: 10, off: n.off},
		{op: bpfStoreW, dst: 10, src: 1, off: varKey},
	}
}

// whileOn is the beginning of the program. The program goes on if the first word of the map
// state and the word of the probe are not zero, and the thread is at the address of the probe, if that has one.
// Otherwise it ends, with nothing done. The cookie has the address and the number of the word
// (cookie). whileOn leaves the context in register 6.
func whileOn(getCookie []instruction, state int) []instruction {
	return append(slices.Clip(getCookie), []instruction{
		{op: bpfMovReg, dst: 2, src: 0},
		{op: bpfRightImm, dst: 2, imm: cookieAddr},
		{op: bpfAndImm, dst: 2, imm: numSwitches - 1}, // so that the kernel can see it
		{op: bpfLeftImm, dst: 2, imm: 3},
		{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_VALUE, imm: int32(state)}, {},
		{op: bpfLoadDW, dst: 3, src: 1},
		{op: bpfJumpEq, dst: 3, off: toOut},
		{op: bpfAddReg, dst: 1, src: 2},
		{op: bpfLoadDW, dst: 3, src: 1},
		{op: bpfJumpEq, dst: 3, off: toOut},
		{op: bpfLeftImm, dst: 0, imm: 64 - cookieAddr},
		{op: bpfRightImm, dst: 0, imm: 64 - cookieAddr},
		{op: bpfJumpEq, dst: 0, off: 2}, // everywhere
		{op: bpfLoadDW, dst: 1, src: 6, off: ctxIP},
		{op: bpfJumpNeReg, dst: 0, src: 1, off: toOut},
	}...)
}

// signalProgram counts the hit, keeps the registers and signals the thread, while
// it is switched on.
func signalProgram(getCookie []instruction, state, hits int, sig syscall.Signal, ours pidNamespace) []instruction {
	p := whileOn(getCookie, state)
	p = append(p, keyNumber(ofThread, ours)...)
	p = append(p, find(hits)...)

	// A thread that is new here gets an empty hit.
	empty := []instruction{{op: bpfMovImm, dst: 1}}
	for off := varHit; off < varPID; off += 8 {
		empty = append(empty, instruction{op: bpfStoreDW, dst: 10, src: 1, off: off})
	}
	empty = append(empty, insert(hits, int32(varHit))...)
	empty = append(empty, find(hits)...)
	empty = append(empty, instruction{op: bpfJumpEq, dst: 0, off: toOut}) // no room: the thread is not stopped
	p = append(p, instruction{op: bpfJumpNe, dst: 0, off: int16(len(empty))})
	p = append(p, empty...)

	p = append(p, []instruction{
		{op: bpfMovReg, dst: 7, src: 0},
		{op: bpfLoadDW, dst: 1, src: 7},
		{op: bpfAddImm, dst: 1, imm: 1},
		{op: bpfStoreDW, dst: 7, src: 1},
	}...)
	for i := range int16(numRegs) {
		p = append(p, instruction{op: bpfLoadDW, dst: 1, src: 6, off: 8 * i},
			instruction{op: bpfStoreDW, dst: 7, src: 1, off: hitRegs + 8*i})
	}
	return finish(append(p, []instruction{
		{op: bpfMovImm, dst: 1, imm: int32(sig)},
		{op: bpfCall, imm: helperSendSignalThread},
	}...))
}

// maxThreads bounds how many threads can have hits.
const maxThreads = 1 << 16

// firstPIDNamespace is the number of the first PID namespace (PROC_PID_INIT_INO).
const firstPIDNamespace = 0xEFFFFFFC

// NewSignals returns a Signals that sends sig to threads of process pid. It has no
// probes yet, and is switched on.
//
// Errors: a [need.Refusal] of need.Uprobes, which is an [errors.ErrUnsupported] from a kernel without uprobes, and for a
// process of another PID namespace than ours, unless ours is the first.
func NewSignals(pid int, sig syscall.Signal) (*Signals, error) {
	s := &Signals{hits: -1, state: -1}
	if err := s.make(pid, sig); err != nil {
		s.Close()
		return nil, need.Uprobes.Explain(err)
	}
	s.key = 0
	s.lookup = mapCall{fd: uint32(s.hits), key: pointer(unsafe.Pointer(&s.key)), value: pointer(unsafe.Pointer(&s.hit))}
	s.forgotten = mapCall{fd: uint32(s.hits), key: s.lookup.key}
	s.Switch(true)
	return s, nil
}

func (s *Signals) make(pid int, sig syscall.Signal) error {
	ours, err := ourNamespace(pid)
	if err != nil {
		return err
	}
	if s.hits, err = newHits(); err != nil {
		return err
	}
	if s.state, s.words.mem, err = newWords(numSwitches); err != nil {
		return err
	}
	s.program, err = newProbeProgram(pid, func(getCookie []instruction) []instruction {
		return signalProgram(getCookie, s.state, s.hits, sig, ours)
	})
	return err
}

// newHits makes a table of hits by thread. With links its memory is allocated as it fills. Programs of perf events need
// it in advance: before Linux 6.1 the kernel warns, once, of the other kind (check_map_prog_compatibility).
func newHits() (int, error) {
	how, err := mechanismOf()
	if err != nil {
		return -1, err
	}
	var flags uint32
	if how == probeLinks {
		flags = unix.BPF_F_NO_PREALLOC
	}
	return newMap(unix.BPF_MAP_TYPE_HASH, unsafe.Sizeof(hit{}), maxThreads, flags)
}

// ourNamespace returns our PID namespace. It fails if programs cannot tell by their numbers in it that threads are of process pid.
func ourNamespace(pid int) (pidNamespace, error) {
	ours, err := namespaceOf("self")
	if err != nil || ours.ino == firstPIDNamespace {
		return ours, err
	}
	theirs, err := namespaceOf(strconv.Itoa(pid))
	if err == nil && ours.ino != theirs.ino {
		err = errOtherNamespace
	}
	return ours, err
}

// A Link is one probe. Closing it takes tens of milliseconds; see [Closer].
type Link struct {
	s    *Signals
	fd   int
	word int // its switch
}

// Probe makes threads that reach addr get the signal. addr is offset off of the file
// at path. If addr is 0 they get it at that offset wherever the file is mapped, also later. The path is resolved in our own mount namespace, and must not go through
// the target's: paths in /proc/self/fd and /proc/PID/map_files are fine. If no
// private, executable mapping has that offset at addr, Probe succeeds and does nothing.
//
// Errors: EINVAL or ENOTSUPP for an instruction that cannot be probed, ESRCH when
// there is no such process, EMFILE when descriptors run out, or switches.
func (s *Signals) Probe(path string, off, addr uint64) (*Link, error) {
	word, err := s.words.take()
	if err != nil {
		return nil, fmt.Errorf("uprobe at %s+%#x: %w", path, off, err)
	}
	l := &Link{s: s, fd: -1, word: word}
	if l.fd, err = s.program.attach(path, off, cookie(addr, word)); err != nil {
		s.words.put(word)
		if errors.Is(err, notSupported) {
			err = cannotProbe{err}
		}
		return nil, fmt.Errorf("uprobe at %s+%#x: %w", path, off, err)
	}
	l.Switch(true)
	return l, nil
}

// notSupported is ENOTSUPP, a number of the kernel's own that has no name outside of it: uprobes return it for instructions that
// they can neither emulate nor execute elsewhere (arch_uprobe_analyze_insn).
const notSupported = syscall.Errno(524)

// cannotProbe gives that number words.
type cannotProbe struct{ error }

func (cannotProbe) Error() string   { return "the kernel cannot probe this instruction (ENOTSUPP)" }
func (e cannotProbe) Unwrap() error { return e.error }

// Switch turns the probe on or off, at once; Probe returns it switched on.
func (l *Link) Switch(on bool) { l.s.words.set(l.word, on) }

// Close lifts the probe.
func (l *Link) Close() error {
	err := closeProbe(l.fd)
	l.s.words.put(l.word)
	return err
}

// closeProbe closes the descriptor of a probe. If we are killed meanwhile, the trap is removed from
// the text all the same.
func closeProbe(fd int) error {
	if err := ptrace.CloseApart(fd); err != nil {
		return fmt.Errorf("close of uprobe: %w", err)
	}
	return nil
}

// Switch turns all probes on or off, at once.
func (s *Signals) Switch(on bool) { s.words.set(0, on) }

// Take fills in the last hit of thread tid, which must be in a stop. It returns false
// if the thread has had no hit.
func (s *Signals) Take(tid int, h *Hit) bool {
	s.key = uint32(tid)
	_, _, e := unix.RawSyscall(unix.SYS_BPF, unix.BPF_MAP_LOOKUP_ELEM, uintptr(unsafe.Pointer(&s.lookup)), unsafe.Sizeof(s.lookup))
	runtime.KeepAlive(s)
	if e != 0 {
		return false
	}
	h.Count, h.Regs = s.hit.count, s.hit.regs
	return true
}

// Forget drops the hits of a thread that has ended: its number may be used again.
func (s *Signals) Forget(tid int) {
	s.key = uint32(tid)
	// ENOENT: it has had no hit.
	unix.RawSyscall(unix.SYS_BPF, unix.BPF_MAP_DELETE_ELEM, uintptr(unsafe.Pointer(&s.forgotten)), unsafe.Sizeof(s.forgotten))
	runtime.KeepAlive(s)
}

// Close gives back the resources of the Signals. All probes that are not closed yet must be switched off
// before, each or all at once; they can still be closed. Hits that were not taken are dropped, but their
// signals are delivered.
func (s *Signals) Close() error {
	s.program.close()
	closeAll(s.hits, s.state)
	s.words.close()
	return nil
}
