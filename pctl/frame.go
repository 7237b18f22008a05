package pctl

import (
	"ptools/pctl/handle"
)

// Frame is one function of a stack or at an address: its name, the offset in
// it, and the place in its source. A function that the compiler has inlined
// is a frame of its own, before the frame that contains it.
type Frame struct {
	PC     uint64
	Func   string // demangled; empty if unknown; SignalHandler for code that a signal handler returns to, without a symbol
	Raw    string // the same as the file has it: mangled
	Entry  uint64 // run-time address of the function that PC is in, not of one inlined there; 0 if unknown
	Offset uint64 // PC - Entry; if the function is unknown, PC as the file of Object counts addresses, or its offset in a file that is not ELF

	File    string // of the source; empty without line information
	Line    int
	Inlined bool // Func was inlined into the next Frame's
	Wrapper bool // Go's compiler has made Func, for a method value, a go statement or a defer: Go's own traces leave it out

	Object  string // path of the object; empty for code in no file
	BuildID string
}

// SignalHandler is the Func of a frame that called a signal handler, unless its code has a symbol, such as __restore_rt.
const SignalHandler = handle.SignalHandler

// framesOf converts the frames of a handle.Space.
func framesOf(list []handle.Frame) []Frame {
	frames := make([]Frame, len(list))
	for i, f := range list {
		frames[i] = Frame(f)
	}
	return frames
}
