package x86_test

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"ptools/internal/ptest"
	"ptools/internal/ptrace"
	"ptools/internal/x86"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// int3 is the instruction.
const int3 = 0xcc

// Bits of rflags.
const (
	flagCF = 1 << 0
	flagTF = 1 << 8
	flagRF = 1 << 16
	flagAC = 1 << 18
	flagID = 1 << 21
)

// The lab's memory, as testdata/lab.c maps it.
const (
	labTop      = 0x41230000
	labCode     = labTop + 0x150
	labNearSlot = labTop + 0x1000
	labFarSlot  = 0x512351000
	labData     = 0x41330000
	labHalf     = 0x2000
)

// lab is a stopped process in which single instructions run, with registers and
// memory that the test chooses. Its methods must be called from the goroutine
// that made it.
type lab struct {
	t     testing.TB
	pid   int
	file  []byte // the shared file: code, then data
	base  x86.Regs
	clean xstate
	early map[int]ptrace.Stop
}

// newLab starts the process and stops it. The test's goroutine stays on its
// thread, which is the tracer.
func newLab(t testing.TB) *lab {
	path := filepath.Join(t.TempDir(), "lab")
	if err := os.WriteFile(path, make([]byte, 2*labHalf), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file, err := syscall.Mmap(int(f.Fd()), 0, 2*labHalf, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(file) })
	g := ptest.Start(t, ptest.BuildC(t, "testdata/lab.c"), path)
	g.Ready()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	l := &lab{t: t, pid: g.PID, file: file, early: make(map[int]ptrace.Stop)}
	l.must(ptrace.Seize(l.pid, ptrace.OptFork|ptrace.OptClone|ptrace.OptExitKill))
	t.Cleanup(func() {
		g.Kill()
		for { // until it is dead; its starter reaps it
			if s, err := ptrace.PeekWait(true); err != syscall.EINTR && (err != nil || s.Kind.Ended()) {
				return
			}
		}
	})
	l.must(ptrace.Interrupt(l.pid))
	if s := l.wait(l.pid); s.Kind != ptrace.KindEventStop {
		t.Fatalf("first stop is %v", s.Kind)
	}
	l.base = l.regs(l.pid)
	l.base.OrigRax = ^uint64(0)
	l.clean = l.readXState()
	return l
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// wait returns the next stop of tid. It keeps stops of other threads for later calls.
func (l *lab) wait(tid int) ptrace.Stop {
	l.t.Helper()
	for {
		if s, ok := l.early[tid]; ok {
			delete(l.early, tid)
			return s
		}
		s, err := ptrace.Wait(true)
		if err == syscall.EINTR {
			continue
		}
		l.must(err)
		l.early[s.TID] = s
	}
}

// regs reads the registers of a stopped thread.
func (l *lab) regs(tid int) x86.Regs {
	l.t.Helper()
	var r ptrace.Regs
	l.must(ptrace.GetRegs(tid, &r))
	return r.Regs
}

// setRegs writes the registers of the lab's thread.
func (l *lab) setRegs(r *x86.Regs) {
	l.t.Helper()
	l.must(ptrace.SetRegs(l.pid, &ptrace.Regs{Regs: *r}))
}

// step sets the registers, runs one instruction and reads them back. It returns
// the signal that stopped the thread: SIGTRAP if the instruction ran.
func (l *lab) step(r *x86.Regs) syscall.Signal {
	l.t.Helper()
	l.setRegs(r)
	l.must(ptrace.SingleStep(l.pid, 0))
	return l.stopped(r)
}

// run continues the thread to its next stop.
func (l *lab) run(r *x86.Regs) syscall.Signal {
	l.t.Helper()
	l.setRegs(r)
	l.must(ptrace.Cont(l.pid, 0))
	return l.stopped(r)
}

// calm makes the kernel forget a single step over popf. Otherwise it would take the
// TF of the next step for the program's own (arch/x86/kernel/step.c,
// enable_single_step).
func (l *lab) calm() {
	l.t.Helper()
	l.put([]byte{int3}, labCode)
	r := l.base
	r.Rip = labCode
	l.run(&r)
}

// stopped waits for a signal and reads the registers.
func (l *lab) stopped(r *x86.Regs) syscall.Signal {
	l.t.Helper()
	s := l.wait(l.pid)
	if s.Kind != ptrace.KindSignal {
		l.t.Fatalf("stop is %v", s.Kind)
	}
	*r = l.regs(l.pid)
	r.OrigRax = l.base.OrigRax
	return s.Signal
}

// put writes code at an address of the lab's executable memory.
func (l *lab) put(code []byte, addr uint64) {
	if addr >= labFarSlot {
		addr -= labFarSlot - labNearSlot
	}
	copy(l.file[addr-labTop:], code)
}

// data is the lab's writable memory.
func (l *lab) data() []byte { return l.file[labHalf:] }

// ReadAt reads the lab's data. ReadAt and WriteAt access nothing else, and so fail
// where the lab would fault.
func (l *lab) ReadAt(p []byte, off int64) (int, error) {
	q, ok := l.span(len(p), off)
	if !ok {
		return 0, io.ErrUnexpectedEOF
	}
	return copy(p, q), nil
}

func (l *lab) WriteAt(p []byte, off int64) (int, error) {
	q, ok := l.span(len(p), off)
	if !ok {
		return 0, io.ErrShortWrite
	}
	return copy(q, p), nil
}

func (l *lab) span(n int, off int64) ([]byte, bool) {
	i := uint64(off) - labData
	if i >= labHalf || i+uint64(n) > labHalf {
		return nil, false
	}
	return l.data()[i : i+uint64(n)], true
}

// xstate is a thread's vector and floating-point state (NT_X86_XSTATE).
type xstate []byte

const (
	ptraceGetRegSet = 0x4204
	ptraceSetRegSet = 0x4205
	ntX86XState     = 0x202
	maxXState       = 16384
)

func (x xstate) call(l *lab, request uintptr) int {
	v := syscall.Iovec{Base: &x[0], Len: uint64(len(x))}
	_, _, e := syscall.RawSyscall6(syscall.SYS_PTRACE, request, uintptr(l.pid), ntX86XState, uintptr(unsafe.Pointer(&v)), 0, 0)
	if e != 0 {
		l.t.Fatal(e)
	}
	return int(v.Len)
}

// readXState returns the state of the lab's thread.
func (l *lab) readXState() xstate {
	n := len(l.clean)
	if n == 0 {
		n = maxXState
	}
	x := make(xstate, n)
	return x[:x.call(l, ptraceGetRegSet)]
}

func (x xstate) write(l *lab) { x.call(l, ptraceSetRegSet) }

// settle clears the state that depends on more than the instructions that ran: the
// addresses of the last x87 instruction and its operand, and which components the
// processor has found to be in their initial state.
func (x xstate) settle() {
	clear(x[8:24])
	clear(x[512:520])
}
