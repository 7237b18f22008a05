package pctl

import (
	"fmt"
	"io"
	"strconv"
	"sync"

	"ptools/internal/futex"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/internal/unwind"
	"ptools/pctl/handle"
)

// State says what a thread was doing when it was stopped.
type State uint8

const (
	// Running: it executed code of its own.
	Running State = iota
	// InSyscall: it was in a system call, most often blocked there.
	InSyscall
	// Unstoppable: it sleeps uninterruptibly, as a parent in vfork(2) does, or
	// is the ended first thread of a living process. It executes nothing and
	// has no registers to show. One that sleeps has a stack all the same, for as long
	// as it sleeps there: it is read from outside.
	Unstoppable
)

var stateNames = [...]string{"running", "in a system call", "unstoppable"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "state " + strconv.Itoa(int(s))
}

// Thread is a copy of a thread as it stood in a Pause or at a Hit. Any
// goroutine may use it, one at a time, also after the thread runs again.
type Thread struct {
	TID       int
	State     State
	Registers Registers // zero if State is Unstoppable

	p     *Process
	space *handle.Space // of the address space that the thread was in
	base  uint64        // address of stack[0]
	stack []byte        // nil until it is copied
	stuck bool          // the copy of its stack got stuck
	// asleep is what an Unstoppable thread sleeps in. Its SP is 0 if that is not known.
	asleep procfs.Syscall
	lock   futex.Memory // around the futex that it waits for
	// pointed is what the arguments of its system call point to.
	pointed []futex.Memory

	// The result of the last unwinding.
	walked    bool
	walkedHow handle.How
	walkedTo  []Frame
	walkedErr error

	named bool
	name  string
	call  string // the name of the system call, once asked for
}

// Name is the thread's name (comm, at most 15 bytes of the target's choice). A stop of many threads
// reads it. Otherwise it is read at the first call, because reading the names of many threads takes
// longer than stopping them. A thread that has ended by then has no name.
func (t *Thread) Name() string {
	if !t.named {
		t.named = true
		t.name, _ = procfs.ReadComm(t.p.PID(), t.TID)
	}
	return t.name
}

// Syscall returns the name of the system call that the thread was in, after "i386 " for a call of 32-bit code. The
// kernel restarts an interrupted call as restart_syscall. Syscall reads the original call's number from the code that
// made the call, if it is there to see.
func (t *Thread) Syscall() (name string, ok bool) {
	if t.State != InSyscall {
		return "", false
	}
	if t.call == "" {
		t.call = t.callName()
	}
	return t.call, true
}

func (t *Thread) callName() string {
	nr, _, _ := t.Registers.Syscall()
	if t.Registers.kernel().Is32Bit() {
		return "i386 " + procfs.SyscallName32(nr)
	}
	if nr == ptrace.CallRestart {
		var code [ptrace.CallWindow]byte
		n, _ := t.p.userMemory(nothing{}).ReadAt(code[:], int64(t.Registers.PC())-ptrace.CallLength)
		if own, ok := ptrace.RestartedCall(code[:n]); ok {
			nr = own
		}
	}
	return procfs.SyscallName(nr)
}

// setRegisters sets the registers and state from what was read of a stopped thread.
func (t *Thread) setRegisters(regs *ptrace.Regs, err error) {
	if err != nil {
		t.State = Unstoppable
		t.asleep = t.sleepsIn()
		return
	}
	t.Registers = Registers(regs.Regs)
	if _, _, in := regs.SyscallReturn(); in {
		t.State = InSyscall
	}
}

// copyThread copies a thread that stands still, with its stack.
func (p *Process) copyThread(tid int, regs *ptrace.Regs, mem io.ReaderAt) *Thread {
	t := &Thread{TID: tid, p: p, space: p.c.Space(), Registers: Registers(regs.Regs)}
	t.copyStack(p.userMemory(mem))
	t.refresh()
	return t
}

// refresh reads the map again if the thread is in an object that was mapped after the
// last read. It has to be called while the thread stands still: later the process may be
// gone. It reports whether the map was read.
func (t *Thread) refresh() bool {
	if t.State == Unstoppable || t.space.Knows(t.Registers.PC()) {
		return false
	}
	t.space.Refresh() // if the process is just being killed, the last map stays
	return true
}

const (
	redZone   = 128       // bytes below the stack pointer that a leaf may use (System V ABI)
	stackStep = 64 << 10  // bytes copied at once; most stacks end before
	stackMax  = 256 << 10 // bytes copied at most
)

// scratchStacks are buffers for reading a stack whose size is not yet known.
var scratchStacks = sync.Pool{New: func() any { return new([stackStep]byte) }}

// copyStack copies the stack. It has to be called while the thread stands still. mem reads
// the memory that the process itself may read.
func (t *Thread) copyStack(mem io.ReaderAt) {
	if t.State == Unstoppable || t.stack != nil {
		return
	}
	t.base = t.Registers.SP() - redZone
	t.stack = readStack(mem, t.base)
}

// readStack copies a stack up to its end, which is the guard page of its neighbour, or up to stackMax.
func readStack(mem io.ReaderAt, base uint64) []byte {
	buf := scratchStacks.Get().(*[stackStep]byte)
	defer scratchStacks.Put(buf)
	stack := []byte{}
	for len(stack) < stackMax {
		n, err := mem.ReadAt(buf[:], int64(base)+int64(len(stack)))
		stack = append(stack, buf[:n]...)
		if err != nil || n < len(buf) {
			break // the end of the mapping
		}
	}
	return stack
}

// Stack returns the thread's call stack, innermost frame first, with source
// lines and inlined functions where debug information has them. Without a copy of the stack
// (Snapshot.CopyStacks, Hit.Thread) it reads the memory as it is now, which is right only while
// the thread stands still. A copy has one stack. If a thread has changed stacks, as where Go calls C or in a handler on an alternate stack,
// its callers are there only if it still stands or sleeps where it did. If a stack cannot be followed to its end, or cannot be symbolized for
// want of descriptors, Stack returns what it has, with an error that satisfies ErrCut and says
// why. The caller may keep the slice, but must not change it.
func (t *Thread) Stack() ([]Frame, error) { return t.frames(handle.Lines) }

// Calls is Stack without source lines and inlined functions: one frame for
// each call. The first time that a file is met, Calls is far cheaper: reading
// and inflating the debug information of a C library takes a tenth of a second.
func (t *Thread) Calls() ([]Frame, error) { return t.frames(0) }

func (t *Thread) frames(how handle.How) ([]Frame, error) {
	if t.State == Unstoppable {
		if frames := t.blocked(how); frames != nil {
			return frames, nil
		}
		return nil, &Error{Op: "stack", PID: t.p.PID(), TID: t.TID, Err: ErrUnstoppable}
	}
	if t.stack == nil {
		return t.p.walk.stack(t, how)
	}
	if !t.walked || t.walkedHow != how {
		t.walked, t.walkedHow = true, how
		t.walkedTo, t.walkedErr = t.p.walk.stack(t, how)
	}
	return t.walkedTo, t.walkedErr
}

// sleepsIn returns the system call that the thread sleeps in now, or one without SP.
func (t *Thread) sleepsIn() procfs.Syscall {
	files := procfs.UnopenedTask(t.p.PID(), t.TID)
	defer files.Close()
	call, err := files.Syscall()
	if err != nil || call.Running {
		return procfs.Syscall{}
	}
	return call
}

// stands reports whether the thread stands or sleeps where it did when its stack was copied. Memory beyond the copy is that of its stack then. A
// thread that runs, or has moved on, may have made other calls there.
func (t *Thread) stands() bool {
	if t.State == Unstoppable {
		return true // blocked looks after that
	}
	call, pc := t.sleepsIn(), t.Registers.PC()
	return call.SP == t.Registers.SP() && (call.PC == pc || call.PC == pc+ptrace.SyscallLength) // it is to make its call again
}

// blocked returns the stack of a thread that could not be stopped, but executes nothing either: before and after its stack is read it is in
// the system call that it was in at the Pause. It returns nil if that is not so, or if the stack is not whole.
func (t *Thread) blocked(how handle.How) []Frame {
	call := t.asleep
	if call.SP == 0 || t.sleepsIn() != call {
		return nil
	}
	var regs ptrace.Regs
	regs.SetPC(call.PC)
	regs.SetSP(call.SP)
	if call.Nr >= 0 {
		regs.SetSyscallArg(0, call.Args[0])
	}
	asleep := Thread{TID: t.TID, State: Unstoppable, Registers: Registers(regs.Regs), p: t.p, space: t.space, base: call.SP - redZone}
	asleep.stack = readStack(t.p.userMemory(nothing{}), asleep.base)
	frames, err := t.p.walk.stack(&asleep, how)
	if err != nil || t.sleepsIn() != call {
		return nil
	}
	return frames
}

// walker unwinds and symbolizes the stacks of one process.
type walker struct {
	mu       sync.Mutex
	space    *handle.Space
	unwinder *unwind.Unwinder
	frames   []unwind.Frame
	names    []handle.Frame
}

func (w *walker) stack(t *Thread, how handle.How) ([]Frame, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = t.space.Lack() // of others
	end := w.unwind(t)
	if !t.stuck && len(w.frames) > 0 && end == unwind.NotCode {
		// The frame may be in an object that was mapped after the maps were read.
		if t.space.Refresh() == nil {
			end = w.unwind(t)
		}
	}
	w.names = w.names[:0]
	for _, f := range w.frames {
		at := how
		if f.Return {
			at |= handle.Return
		}
		if f.Signal {
			at |= handle.Trampoline
		}
		w.names = t.space.Symbolize(f.PC, at, w.names)
	}
	frames := framesOf(w.names)
	if t.stuck {
		return frames, fmt.Errorf("%w: %w", ErrCut, errStuck)
	}
	if err := t.space.Lack(); err != nil {
		return frames, fmt.Errorf("%w: %w", ErrCut, err)
	}
	if end == unwind.Whole {
		return frames, nil
	}
	return frames, fmt.Errorf("%w: %v", ErrCut, end)
}

// nothing is the memory of a process that is gone. The walker never reads through the
// control goroutine, which may be waiting for the walker, in a handler.
type nothing struct{}

func (nothing) ReadAt([]byte, int64) (int, error) { return 0, ErrNoProcess }

func (w *walker) unwind(t *Thread) unwind.End {
	if w.space != t.space {
		w.space, w.unwinder = t.space, unwind.New(t.space)
	}
	var mem io.ReaderAt = nothing{}
	if !t.stuck {
		mem = t.p.userMemory(mem)
	}
	var end unwind.End
	w.frames, end = w.unwinder.Unwind(t.Registers.kernel(), unwind.Stack{Base: t.base, Data: t.stack, Mem: mem, Partial: t.State == Unstoppable}, w.frames[:0])
	if beyond := w.unwinder.Beyond(); beyond > 0 && t.stack != nil && !t.stands() {
		w.frames, end = w.frames[:len(w.frames)-beyond], unwind.Unreadable
	}
	return end
}
