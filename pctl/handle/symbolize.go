package handle

import (
	"sync/atomic"

	"ptools/internal/elfsym"
)

// A Frame says where in the program a program counter is. Where functions were
// inlined, one program counter has several Frames, the innermost first.
type Frame struct {
	PC     uint64
	Func   string // demangled; empty if unknown
	Raw    string // the same as it is in the file, mangled
	Entry  uint64 // run-time address of the function that PC is in, not of one inlined there; 0 if unknown
	Offset uint64 // PC - Entry; if the function is unknown, PC as an address of Object's file, or its offset in a file that is not ELF

	File    string // of the source; empty without line information
	Line    int
	Inlined bool // Func was inlined into the next Frame's
	Wrapper bool // Go's compiler has made Func, for a method value, a go statement or a defer: Go's own traces leave it out

	Object  string // path of the object; empty for code in no file
	BuildID string
}

// How says how a program counter is looked up. With the zero How it is the
// address of the instruction that runs next, and no lines are found.
type How uint8

const (
	// Return: it is a return address. The call before it is looked up, because
	// another function may begin behind a call that does not return.
	Return How = 1 << iota
	// Trampoline: it is in code that a signal handler returns to. Often no symbol has that code, and the one
	// before it may seem to. So its name is SignalHandler unless a symbol begins there.
	Trampoline
	// Lines: the source line and the inlined functions are found as well. That
	// costs reading the line tables of the file once.
	Lines
)

// SignalHandler is the name of the code that a signal handler returns to, if it has no symbol.
const SignalHandler = "<signal handler called>"

// trampolineSize is the length of that code.
const trampolineSize = 9

// Symbolize appends to dst what is known about a program counter. That is at least
// one Frame, which has only its PC if nothing is known. Results are remembered. A
// remembered one costs no lock, and no allocation beyond dst.
func (s *Space) Symbolize(pc uint64, how How, dst []Frame) []Frame {
	return s.Now().Symbolize(pc, how, dst)
}

// Symbolize is Space.Symbolize.
func (t Then) Symbolize(pc uint64, how How, dst []Frame) []Frame {
	s, state := t.space, t.state
	names := state.frameCache()
	if frames, ok := names.get(pc, how); ok {
		return append(dst, frames...)
	}
	addr := pc
	if how&Return != 0 && addr > 0 {
		addr--
	}
	r := state.find(addr)
	if r == nil {
		return append(dst, Frame{PC: pc})
	}
	if r.object == nil {
		return append(dst, s.jitFrame(state, pc, addr))
	}
	l, err := s.load(r.object)
	defer s.missed(l)
	bias, ok := l.bias(r)
	if r.isMoved() {
		if !s.holds(r, l, addr) {
			return append(dst, s.jitFrame(state, pc, addr))
		}
		bias, ok = r.object.bias(l)
	}
	if !ok {
		f := s.jitFrame(state, pc, addr) // a JIT that maps its code from a memfd
		f.Object = r.object.path
		if f.Func == "" {
			f.Offset = pc - r.Start + r.Off
		}
		return append(dst, f)
	}
	frames := l.frames(pc, addr, bias, how)
	for i := range frames {
		frames[i].Object, frames[i].BuildID = r.object.path, l.file.BuildID()
	}
	if err == nil && l.lack() == nil && !l.file.Crowded() {
		names.put(pc, how, frames)
	}
	return append(dst, frames...)
}

func (s *Space) jitFrame(state *mapState, pc, addr uint64) Frame {
	f := Frame{PC: pc}
	if sym, ok := s.jit.lookup(s.source, state, addr); ok {
		f.Func, f.Raw, f.Entry, f.Offset = sym.Name, sym.Raw, sym.Addr, pc-sym.Addr
	}
	return f
}

// frames looks the run-time address addr up in the file.
func (l *loaded) frames(pc, addr, bias uint64, how How) []Frame {
	f := Frame{PC: pc, Offset: pc - bias}
	sym, ok := l.file.Symbol(addr - bias)
	switch {
	case how&Trampoline != 0 && (!ok || addr-bias-sym.Addr >= trampolineSize):
		return []Frame{{PC: pc, Func: SignalHandler}}
	case ok:
		f.Func, f.Raw, f.Entry = sym.Name, sym.Raw, sym.Addr+bias
		f.Offset = pc - f.Entry
	}
	if how&Lines == 0 {
		return []Frame{f}
	}
	var buf [8]elfsym.Line
	lines := l.file.Lines(addr-bias, buf[:0])
	if len(lines) == 0 {
		return []Frame{f}
	}
	frames := make([]Frame, len(lines))
	for i, line := range lines {
		g := f
		g.File, g.Line, g.Inlined, g.Wrapper = line.File, line.Line, line.Inlined, line.Wrapper
		if line.Inlined || f.Func == "" {
			g.Func, g.Raw = line.Func, line.Raw
		}
		frames[i] = g
	}
	return frames
}

// A frameCache remembers the results for two thousand program counters. Each
// program counter has one place, and a later one displaces an earlier one.
type frameCache [1 << frameCacheBits]atomic.Pointer[answer]

const frameCacheBits = 11

type answer struct {
	pc     uint64
	how    How
	frames []Frame
}

func place(pc uint64, how How) uint64 {
	return (pc*8 + uint64(how)) * 0x9e3779b97f4a7c15 >> (64 - frameCacheBits)
}

func (c *frameCache) get(pc uint64, how How) ([]Frame, bool) {
	a := c[place(pc, how)].Load()
	if a == nil || a.pc != pc || a.how != how {
		return nil, false
	}
	return a.frames, true
}

func (c *frameCache) put(pc uint64, how How, frames []Frame) {
	c[place(pc, how)].Store(&answer{pc, how, frames})
}

func (s *mapState) frameCache() *frameCache {
	if c := s.names.Load(); c != nil {
		return c
	}
	s.names.CompareAndSwap(nil, new(frameCache))
	return s.names.Load()
}
