package unwind

import (
	"io"
)

// A Frame is one activation of a function on a thread's stack.
type Frame struct {
	// PC is the address of the next instruction of this frame.
	PC uint64
	// SP is the stack pointer at that instruction. For a caller it is the value
	// after its callee will have returned.
	SP uint64
	// Return: PC is a return address. The call is the instruction before it, so
	// look up PC-1: PC itself may belong to the next line, or to the next
	// function if the callee never returns. It is false where the callee returns to
	// an instruction that is not behind a call, such as a function's first.
	Return bool
	// Signal: the frame is the trampoline that a signal handler returns to. The
	// frame after it was interrupted, not called. If the thread is in sigreturn(2), PC is
	// that of the system call instruction: another function may begin behind it.
	Signal bool
}

// An End is why a stack ends where it does.
type End uint8

const (
	_ End = iota // zero: not ended

	// Whole: the thread's or goroutine's first function is the last frame.
	Whole
	// NoRule: nothing says how to leave the last frame: there is no call
	// frame information and no Go table, and rbp does not point to a frame.
	NoRule
	// BadRule: the call frame information of the last frame is corrupt, or
	// undefined at this instruction.
	BadRule
	// NoRegister: leaving the last frame needs a register that is not known,
	// which happens only when Stack.Partial is set.
	NoRegister
	// Unreadable: leaving the last frame needs memory outside the copied stack,
	// and Stack.Mem is nil or cannot read it.
	Unreadable
	// NotCode: the return address of the last frame is not in executable code.
	NotCode
	// Loop: the caller's stack pointer is not above the last frame's.
	Loop
	// TooDeep: there are more than MaxDepth frames, or MaxSwitches changes of stack.
	TooDeep
	// Unsupported: the thread runs 32-bit or 16-bit code. It has one frame, whose program counter is 0 in a segment that the
	// process has made: what it is the address of is not known.
	Unsupported
)

var endNames = [...]string{
	"", "whole", "no rule", "bad rule", "unknown register", "unreadable stack",
	"not code", "loop", "too deep", "not 64-bit code",
}

// String returns the cause in words, "whole" for a complete stack.
func (e End) String() string {
	if int(e) < len(endNames) {
		return endNames[e]
	}
	return "?"
}

const (
	// MaxDepth is the number of frames after which a stack is cut as TooDeep.
	MaxDepth = 1024
	// MaxSwitches is the number of times one stack may cross to another: signal
	// handlers on alternate stacks, goroutine to system stack and back.
	MaxSwitches = 64
)

// A Stack is what can be seen of a thread's memory.
type Stack struct {
	// Base is the address of Data[0]: the thread's stack pointer or a little
	// less.
	Base uint64
	// Data is a copy of the stack, taken together with the registers.
	Data []byte
	// Mem reads other memory: alternate signal stacks, goroutine stacks, code
	// that is in no file. Every use is counted. Nil: only Data is read, and a
	// stack that needs more ends as Unreadable. If the thread runs meanwhile,
	// Mem need not agree with Data.
	Mem io.ReaderAt
	// Pages has more memory of the same moment as Data; nil: none.
	Pages Pages
	// Chain is the return addresses that the frame pointers led to when Data was copied,
	// from rbp on: for each frame the word above the frame pointer, whatever memory it is
	// in. If Data ends in a Go function, which keeps frame pointers, Chain has its callers.
	Chain []uint64
	// Partial: only the program counter and the stack pointer of the registers
	// are known, as /proc/PID/task/TID/syscall shows them, and on amd64 the first
	// argument of the system call, unless that is 0.
	Partial bool
}

// Pages are copies of memory. Page returns the 4096 bytes at an address that is a multiple of 4096, or nil.
type Pages interface {
	Page(addr uint64) []byte
}

// A Special is the kind of a mapping that is not of a file.
type Special uint8

const (
	None Special = iota
	// VDSO is the kernel's own shared object.
	VDSO
	// Anonymous is memory of no file: code made at run time.
	Anonymous
)

// A Mapping is a range of executable memory.
type Mapping struct {
	Start, End uint64
	// Bias is the difference between a run-time and a link-time address.
	Bias uint64
	// Table is the Table of the object mapped here; nil for anonymous memory,
	// and for files that are not ELF.
	Table   *Table
	Special Special
}

// Code finds executable memory by address. Find is called from the goroutine that
// unwinds, once a frame, and must not block.
type Code interface {
	Find(pc uint64) (Mapping, bool)
}

// Counts count what an Unwinder has done since it was made.
type Counts struct {
	Frames   uint64 // frames found
	CFI      uint64 // frames left by call frame information
	Go       uint64 // by the tables of the Go linker
	Pointer  uint64 // by the frame pointer
	Guess    uint64 // by reading the code around the program counter
	Scan     uint64 // by searching the stack for a return address
	Switches uint64 // changes of stack
	Outside  uint64 // reads through Stack.Mem
	Strays   uint64 // words, not of code, that were neither in the copied stack and pages nor in the chain
	Chained  uint64 // stacks that were unwound to their end by their chain
}
