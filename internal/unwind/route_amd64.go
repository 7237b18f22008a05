package unwind

import "golang.org/x/arch/x86/x86asm"

// A track is what is known about the stack at one instruction, relative to the
// beginning of the walk.
type track struct {
	pc     uint64
	sp     relative // what rsp is
	fp     relative // what rbp was set to during the walk
	saved  relative // where the caller's rbp is
	loaded bool     // rbp has been loaded from there
	pushed bool     // rbp has been pushed there
}

// relative is an address relative to a register at the beginning of the walk.
type relative struct {
	off   int64
	reg   uint8
	known bool // otherwise the other fields mean nothing
}

// trackFrom begins a walk.
func trackFrom(pc uint64) track { return track{pc: pc, sp: relative{reg: regRSP, known: true}} }

const (
	walkSteps  = 1500 // instructions that one walk decodes
	walkForks  = 64   // branches that wait to be followed
	walkSeen   = 4096 // slots for addresses that have been visited
	walkSeenLg = 12
)

// A walker follows code from one instruction through all branches, and keeps track
// of the stack pointer, until it comes to a given instruction or to the function's
// return. The first way that it finds is as good as any, because compilers leave
// the stack the same at the end of every path. The result is checked against the
// stack.
type walker struct {
	reader *codeReader
	m      Mapping
	low    uint64 // bounds of the code to follow
	limit  uint64
	goal   uint64 // where to stop; 0: at the return
	fixed  bool   // at the goal the frame must have a fixed size
	forks  [walkForks]track
	nfork  int
	seen   [walkSeen]uint64
	bare   bool  // a way to the goal sets no frame pointer, and loses the stack pointer
	maybe  route // the stack at an indirect jump, perhaps a tail call
	code   []byte
	at     uint64 // address of code[0]
}

// walkOut walks from pc to the return of its function. The stack pointer there says
// where the return address is, relative to pc.
func (l *planner) walkOut(m *Mapping, pc, limit uint64) route {
	w := l.newWalker(m, m.Start, limit)
	r := w.run(trackFrom(pc))
	if !r.ok {
		r = w.maybe
	}
	return r
}

// walkIn walks from a function's start to pc.
func (l *planner) walkIn(m *Mapping, start, pc, limit uint64) route {
	w := l.newWalker(m, start, limit)
	w.goal = pc
	return w.run(trackFrom(start))
}

func (l *planner) newWalker(m *Mapping, low, limit uint64) *walker {
	if l.walker == nil {
		l.walker = new(walker)
	}
	w := l.walker
	*w = walker{reader: &l.codeReader, m: *m, low: low, limit: limit}
	return w
}

// run follows all tracks, the newest first.
func (w *walker) run(t track) route {
	for range walkSteps {
		if w.goal != 0 && t.pc == w.goal {
			if r := t.arrived(w.fixed); r.ok {
				return r
			}
			w.bare = !t.fp.known
		}
		r, alive := w.step(&t)
		if r.ok {
			return r
		}
		if alive {
			continue
		}
		if w.nfork == 0 {
			return route{}
		}
		w.nfork--
		t = w.forks[w.nfork]
	}
	return route{}
}

// step follows one instruction. It reports false at the end of a track.
func (w *walker) step(t *track) (route, bool) {
	if t.pc < w.low || t.pc >= w.limit || !w.visit(t.pc) {
		return route{}, false
	}
	if t.pc-w.at+maxInst > uint64(len(w.code)) {
		w.code, w.at = w.reader.readCode(&w.m, t.pc, codeWindow), t.pc
	}
	code := w.code[min(t.pc-w.at, uint64(len(w.code))):]
	if n := vectorLength(code); n > 0 {
		t.pc += uint64(n)
		return route{}, true
	}
	in, err := x86asm.Decode(code, 64)
	if err != nil {
		return route{}, false
	}
	t.pc += uint64(in.Len)
	if in.Op == x86asm.RET {
		return w.returned(t), false
	}
	rel, direct := in.Args[0].(x86asm.Rel)
	switch {
	case in.Op == x86asm.JMP && direct:
		t.pc += uint64(int64(rel))
		return route{}, true
	case in.Op == x86asm.JMP:
		w.maybe = w.returned(t)
		return route{}, false
	case direct && in.Op != x86asm.CALL && w.nfork < walkForks:
		f := *t
		f.pc += uint64(int64(rel))
		w.forks[w.nfork] = f
		w.nfork++
		return route{}, true
	}
	return route{}, t.follow(&in)
}

// maxInst is the length of the longest instruction.
const maxInst = 15

// visit records that the instruction at pc is followed. It reports false the
// second time.
func (w *walker) visit(pc uint64) bool {
	for i := (pc * 0x9e3779b97f4a7c15) >> (64 - walkSeenLg); ; i = (i + 1) % walkSeen {
		switch w.seen[i] {
		case 0:
			w.seen[i] = pc
			return true
		case pc:
			return false
		}
	}
}

// returned returns the route from the beginning of a walk out, given the stack at
// the return.
func (w *walker) returned(t *track) route {
	if w.goal != 0 || !t.sp.known {
		return route{}
	}
	r := route{ok: true}
	r.cfa, r.ok = registerRule(t.sp.reg, t.sp.off+8)
	if t.loaded {
		r.at, r.rbp = registerRule(t.saved.reg, t.saved.off)
	}
	return r
}

// walkFixed walks from a function's start to pc, and returns the route by the stack pointer alone.
func (l *planner) walkFixed(m *Mapping, start, pc, limit uint64) route {
	w := l.newWalker(m, start, limit)
	w.goal, w.fixed = pc, true
	return w.run(trackFrom(start))
}

// arrived returns the route out of the function at whose start a walk in began,
// given the stack at its goal. At the start the CFA is rsp+8.
func (t *track) arrived(fixed bool) route {
	base, off := uint8(regRSP), t.sp.off
	switch {
	case fixed && (!t.sp.known || t.sp.reg != regRSP):
		return route{}
	case fixed:
	case t.fp.known:
		base, off = regRBP, t.fp.off
	case !t.sp.known:
		return route{}
	}
	var r route
	r.cfa, r.ok = registerRule(base, 8-off)
	if t.pushed {
		r.at, r.rbp = registerRule(base, t.saved.off-off)
	}
	return r
}

func registerRule(reg uint8, off int64) (rule, bool) {
	return rule{kind: ruleRegister, reg: reg, val: int32(off)}, off == int64(int32(off))
}
