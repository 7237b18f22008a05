package perfevent

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"ptools/internal/need"
	"ptools/internal/ptrace"
)

// A mechanism is how the kernel runs a program when a thread reaches an instruction.
type mechanism uint8

const (
	noProbes    mechanism = iota
	probeLinks            // BPF links of the kind uprobe_multi, Linux 6.6
	probeEvents           // perf events of the uprobe PMU, each with a BPF program, Linux 4.17
)

// ofKernel is the mechanism of the running kernel.
var ofKernel = sync.OnceValues(findMechanism)

// mechanismOf returns the mechanism that probes use.
var mechanismOf = ofKernel

// Mechanism names what uprobes are here.
func Mechanism() string {
	switch how, _ := mechanismOf(); how {
	case probeLinks:
		return "BPF links (uprobe_multi)"
	case probeEvents:
		return "perf events, each with a BPF program"
	}
	return ""
}

// WithoutLinks is for tests: from now on probes are perf events, as on a kernel without uprobe_multi links. It must be
// called before there are probes.
func WithoutLinks() { mechanismOf = func() (mechanism, error) { return probeEvents, nil } }

// findMechanism tries the mechanisms. The error is the kernel's where there is none.
func findMechanism() (mechanism, error) {
	linked := tryProbeLink()
	if linked == nil {
		return probeLinks, nil
	}
	if _, err := uprobePMU(); err != nil {
		return noProbes, fmt.Errorf("%w: %w; %w", ErrNoUprobes, linked, err)
	}
	return probeEvents, nil
}

// tryProbeLink finds out whether there are uprobe_multi links, by one for the root directory. A kernel that has them
// refuses it because it is no file (bpf_uprobe_multi_link_attach). The others do not know the kind of link.
func tryProbeLink() error {
	program, err := loadProbe(finish([]instruction{}))
	if err != nil {
		return os.NewSyscallError("bpf(BPF_PROG_LOAD)", err)
	}
	defer unix.Close(program)
	if _, err = linkProbe(program, "/", 0, 0, os.Getpid()); err == unix.EBADF {
		return nil
	}
	return fmt.Errorf("bpf(BPF_LINK_CREATE) of kind uprobe_multi: %w", err)
}

// uprobePMU returns the type of the perf events that are uprobes.
var uprobePMU = sync.OnceValues(func() (uint32, error) {
	b, err := os.ReadFile("/sys/bus/event_source/devices/uprobe/type")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(b)), 10, 32)
	return uint32(n), err
})

// A probeProgram is what the kernel runs at the probes of one process.
type probeProgram struct {
	pid  int
	tid  int // the thread whose memory the events of new probes are about
	code func(getCookie []instruction) []instruction
	ours pidNamespace
	fd   int // with links, one program for all; else -1
}

// newProbeProgram checks that the program can be loaded. code returns it: getCookie are the instructions that leave the
// cookie of a probe in register 0 and keep only the context, in register 6.
func newProbeProgram(pid int, code func(getCookie []instruction) []instruction) (*probeProgram, error) {
	how, err := mechanismOf()
	if err != nil {
		return nil, err
	}
	p := &probeProgram{pid: pid, tid: pid, code: code, fd: -1}
	if how == probeLinks {
		p.fd, err = loadProbe(code([]instruction{{op: bpfMovReg, dst: 6, src: 1}, {op: bpfCall, imm: helperAttachCookie}}))
		return p, err
	}
	if p.ours, err = ourNamespace(pid); err != nil {
		return nil, err
	}
	fd, err := p.load(0) // each probe has its own; whether they can be had is known now
	closeAll(fd)
	return p, err
}

// load loads the program for the perf event of one probe. Events have no cookie before Linux 5.15, so it is a constant.
// The event's uprobe also runs in a child of vfork(2), which shares the memory: the program ends there.
func (p *probeProgram) load(cookie uint64) (int, error) {
	start := append([]instruction{{op: bpfMovReg, dst: 6, src: 1}}, keyNumber(ofProcess, p.ours)...)
	start = append(start,
		instruction{op: bpfLoadW, dst: 1, src: 10, off: varKey},
		instruction{op: bpfJumpNe, dst: 1, imm: int32(p.pid), off: toOut},
		instruction{op: bpfLoad64, dst: 0, imm: int32(cookie)}, instruction{imm: int32(cookie >> 32)})
	return loadUprobe(p.code(start), 0)
}

// attach makes a probe at an offset of a file, and returns its descriptor.
func (p *probeProgram) attach(path string, off, cookie uint64) (int, error) {
	if p.fd >= 0 {
		return linkProbe(p.fd, path, off, cookie, p.pid)
	}
	program, err := p.load(cookie)
	if err != nil {
		return -1, err
	}
	defer unix.Close(program) // the event keeps it
	fd, err := openProbeEvent(path, off, p.tid)
	if err != nil {
		return -1, err
	}
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, program); err != nil {
		ptrace.CloseApart(fd)
		return -1, os.NewSyscallError("ioctl(PERF_EVENT_IOC_SET_BPF)", err)
	}
	return fd, nil
}

// openProbeEvent makes a perf event that is a uprobe in the process of a thread, whichever of its threads comes there, as long
// as this one has its memory (uprobe_perf_filter). The event is
// never enabled, so it costs nothing when threads are switched; its program runs all the same (__uprobe_perf_func in
// kernel/trace/trace_uprobe.c).
func openProbeEvent(path string, off uint64, tid int) (int, error) {
	kind, err := uprobePMU()
	if err != nil {
		return -1, err
	}
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	memory := &struct {
		attr unix.PerfEventAttr
		name *byte
	}{name: name}
	memory.attr = unix.PerfEventAttr{
		Type: kind, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitDisabled,
		Ext1: pointer(unsafe.Pointer(name)), Ext2: off,
	}
	none := ^uintptr(0)
	// A thread that is killed while it plants the trap cannot remove it either, as with links.
	fd, err := ptrace.CallApart(unix.SYS_PERF_EVENT_OPEN,
		[5]uintptr{uintptr(unsafe.Pointer(&memory.attr)), uintptr(tid), none, none, unix.PERF_FLAG_FD_CLOEXEC}, unsafe.Pointer(memory))
	runtime.KeepAlive(memory)
	if err == unix.ESRCH && unix.Access("/proc/"+strconv.Itoa(tid), unix.F_OK) == nil {
		err = ErrThreadEnded // a zombie, whose process may live
	}
	if err != nil {
		return -1, need.UprobeEvents.Explain(os.NewSyscallError("perf_event_open", err))
	}
	return int(fd), nil
}

// EndWithThread reports whether a probe gets no more hits when the thread has ended that it was opened for, and other threads
// of the process live on: the kernel asks which memory that thread has (uprobe_perf_filter in kernel/trace/trace_uprobe.c).
func EndWithThread() bool {
	how, _ := mechanismOf()
	return how == probeEvents
}

// close gives back the program. Probes that are attached keep it.
func (p *probeProgram) close() {
	if p != nil {
		closeAll(p.fd)
	}
}
