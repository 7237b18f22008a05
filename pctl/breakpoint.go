package pctl

import (
	"context"

	"ptools/pctl/control"
)

// Handler is called for each hit of a breakpoint, on the control goroutine,
// while the thread that hit stands in front of the instruction and the others
// run. The thread resumes when the Handler returns. A Handler should copy
// what it needs. It must not make requests to the Process that wait
// (ErrOnControl), but it may set and remove breakpoints. If it panics, the
// process is let go unharmed before the panic continues.
type Handler func(*Hit)

// Breakpoint is a place where threads are stopped, or only counted. It belongs to the
// Process it was set through, which removes it when it is closed.
type Breakpoint struct {
	p       *Process
	where   Where
	handler Handler
	number  int     // in the order in which the Process got them
	find    *finder // nil: it is set by name or address
	args    entryArgs
	b       breakpoint
}

// breakpoint is a breakpoint of control, by address or by symbol. Control
// removes it when control ends, not when a reference is closed.
type breakpoint interface {
	Addrs() []uint64
	Hits() uint64
	Found() bool
	Places() []control.Place
	remover
}

// Break sets a breakpoint. With a nil Handler hits are only counted. The kernel counts them, and no thread is
// stopped, if it can and if KindHit is not asked for. It does so at the first instruction of a function's first block that it
// emulates: others it single-steps. A place named by a symbol is looked for in every object, and
// may be at several addresses. That includes objects that are loaded later, and those of programs that are
// executed later. A pattern names all functions that match when their object comes, up to 2,000: if more match, Break fails, or of an object
// that comes later KindBreakRefused says so. If a breakpoint cannot be set in such an object, or an object cannot be read for want of
// descriptors or memory, KindBreakRefused says why. A place named by address is forgotten at an exec. A line
// of a source file is at each piece of code that it has, in inlined copies too (Breakpoint.Source). A place inside an instruction is refused with
// ErrMidInstruction, as far as functions' symbols show it. A place
// inside a restartable sequence (rseq(2)) that its file lists is refused with ErrRestartable. Each hit inside a
// sequence that no file lists aborts the sequence. Break may be called from a Handler.
func (p *Process) Break(ctx context.Context, where Where, h Handler) (*Breakpoint, error) {
	find, err := newFinder(where)
	if err != nil {
		return nil, p.fail("break "+where.String(), err)
	}
	return breakAt(ctx, p, where, find, h)
}

// breakAt is Break with what the breakpoint looks for.
func breakAt(ctx context.Context, p *Process, where Where, find *finder, h Handler) (*Breakpoint, error) {
	const op = "break"
	c, err := p.control(op)
	if err != nil {
		return nil, err
	}
	if !where.isAddr() && !c.OnControl() {
		readSymbols(p, where, find)
	}
	b := &Breakpoint{p: p, where: where, handler: h, find: find}
	var on control.Handler
	if h != nil {
		on = func(hit *control.Hit) {
			h(&Hit{
				TID: hit.TID(), Addr: hit.Addr(), Count: b.b.Hits(), Breakpoint: b,
				Executed: hit.Executed(), Late: hit.Late(), hit: hit,
			})
		}
	}
	// On the control goroutine, so that b is whole before it is hit.
	set := func() {
		switch {
		case where.isAddr():
			b.b, err = c.Break(ctx, where.Addr, on)
		case find != nil:
			b.b, err = c.BreakEach(ctx, find.sought(where), on)
		default:
			b.b, err = c.BreakSymbol(ctx, where.Object, where.Symbol, where.Offset, on)
		}
	}
	switch cerr := c.Do(ctx, set); {
	case cerr == ErrOnControl:
		set()
	case cerr != nil:
		err = cerr
	}
	if err != nil {
		return nil, p.fail(op+" "+where.String(), err)
	}
	if err := p.own(op, b.b, b); err != nil {
		return nil, err
	}
	return b, nil
}

// readSymbols reads what a breakpoint looks for. Reading symbols for the first time takes long. So it is not done on the control goroutine, where
// stopped threads would wait for it.
func readSymbols(p *Process, where Where, find *finder) {
	if find != nil {
		for _, o := range p.space().Named(where.Object) {
			if o.File != nil {
				find.find(o.File)
			}
		}
		return
	}
	for _, s := range p.space().ByName(where.Object, where.Symbol) {
		if s.Object.File != nil {
			s.Object.File.Go() // CountAt asks
		}
	}
}

// Process returns the Process that the breakpoint belongs to.
func (b *Breakpoint) Process() *Process { return b.p }

// Where returns the place that was asked for.
func (b *Breakpoint) Where() Where { return b.where }

// Addrs returns the addresses at which the breakpoint stands now; none while
// no loaded object has its symbol.
func (b *Breakpoint) Addrs() []uint64 { return b.b.Addrs() }

// Found reports whether an object so far has had a function of the breakpoint's symbol, or
// could not be read for want of descriptors or memory. If none has, the name may be
// mistyped (Process.Near).
func (b *Breakpoint) Found() bool { return b.b.Found() }

// Hits returns how often threads have hit it.
func (b *Breakpoint) Hits() uint64 { return b.b.Hits() }

// Remove takes the breakpoint away; its count stays. A thread whose hit was
// not reported yet resumes as if the breakpoint had never been there. To
// remove it again, or after the process has ended, is no error. Remove may be
// called from a Handler.
func (b *Breakpoint) Remove(ctx context.Context) error {
	return b.p.disown(ctx, b.where.String(), b.b)
}

// Hit is a thread at a breakpoint. Only the Handler that it was given to may
// call its methods.
type Hit struct {
	TID        int
	Addr       uint64 // of the breakpoint
	Count      uint64 // hits of the breakpoint, this one included
	Breakpoint *Breakpoint
	// Executed reports that the instruction at Addr has run, by a kernel uprobe.
	// Registers returns the registers from before it, memory is as the
	// instruction left it.
	Executed bool
	// Late reports that the thread has run on since, because it blocked the signal
	// of the uprobe. It stands elsewhere, with the registers that it has there.
	Late bool

	// hit is gone when the Handler has returned; the fields above may be kept.
	hit *control.Hit
}

// Registers returns the thread's registers, before the instruction at Addr unless
// the hit is Late.
func (h *Hit) Registers() *Registers { return (*Registers)(&h.hit.Regs().Regs) }

// SetRegisters changes the thread's registers. With a program counter other than
// Addr the thread resumes there. Otherwise it executes the instruction at Addr,
// once more if it was Executed.
func (h *Hit) SetRegisters(regs *Registers) { h.hit.SetRegs(regs.kernel()) }

// ReadAt reads the process's memory, without our traps in it. It implements
// io.ReaderAt; an address is given as a signed number (two's complement).
func (h *Hit) ReadAt(b []byte, addr int64) (int, error) { return h.hit.ReadAt(b, addr) }

// WriteAt writes the process's memory, also where it is mapped read-only.
// Breakpoints there stay. It implements io.WriterAt.
func (h *Hit) WriteAt(b []byte, addr int64) (int, error) { return h.hit.WriteAt(b, addr) }

// Hold asks for a rendezvous. When the handlers of this hit have returned,
// the whole process stands still until Continue, with this thread at Addr.
func (h *Hit) Hold() { h.hit.Hold() }

// Attach puts v into the KindHit of this hit, so that a reader of the events gets what the Handler has seen.
func (h *Hit) Attach(v any) { h.hit.Attach(v) }

// Thread copies the thread's registers and stack. Its call stack can be had
// from the copy later, when the thread runs again.
func (h *Hit) Thread() *Thread { return h.Breakpoint.p.copyThread(h.TID, h.hit.Regs(), h.hit) }

// Inlined returns the functions that the function of the breakpoint was inlined into; the breakpoint is not hit there.
// It knows none of a pattern. Inlined reads Go's tables or the debug information of the objects that Where names, up to a bound of 64 MB an object.
func (b *Breakpoint) Inlined() []string {
	if b.where.Symbol == "" || b.find != nil {
		return nil
	}
	return b.p.space().Inlined(b.where.Object, b.where.Symbol)
}
