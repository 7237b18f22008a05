package pctl

import (
	"fmt"

	"ptools/internal/clean"
	"ptools/pctl/handle"
)

// A GoAncestor is a goroutine from which another one descends. It may have ended.
type GoAncestor struct {
	ID uint64
	// Stack is where it made the next goroutine in the line, innermost function first. A program counter is that behind a call.
	Stack []Frame
	Cut   bool // the stack is deeper than Go's runtime records: 50 functions, before Go 1.21 100
	// CreatedAt is the go statement that made the ancestor itself, as Goroutine.CreatedAt has it.
	CreatedAt []Frame
}

// Ancestors returns the goroutines from which this one descends, its creator first. Go's runtime keeps them only in a program that runs with
// GODEBUG=tracebackancestors=N, and N of them at most. The error satisfies ErrCut if there are more than could be read.
func (g *Goroutine) Ancestors() ([]GoAncestor, error) {
	if g.line == nil {
		return nil, nil
	}
	var all []GoAncestor
	for i := range g.line.Ancestors {
		of := &g.line.Ancestors[i]
		a := GoAncestor{ID: of.ID, Cut: of.Cut, CreatedAt: g.creatorOf(of.ID, of.Creator)}
		for _, pc := range of.Calls { // each inlined function has one of its own
			a.Stack = append(a.Stack, framesOf(g.space.Symbolize(pc, handle.Return|handle.Lines, nil)[:1])...)
		}
		all = append(all, a)
	}
	if g.line.Cut {
		return all, fmt.Errorf("%w: there are more ancestors", ErrCut)
	}
	return all, nil
}

// SameAncestors reports whether two goroutines of one reading descend from the same ones at the same places.
func (g *Goroutine) SameAncestors(o *Goroutine) bool { return g.line == o.line }

// creatorOf returns the go statement with an address behind it, none for the first goroutine, which the runtime's start makes.
func (g *Goroutine) creatorOf(id, pc uint64) []Frame {
	if pc == 0 || id == 1 {
		return nil
	}
	return framesOf(g.space.Symbolize(pc, handle.Return|handle.Lines, nil))
}

// appendLine appends the ancestors in the form of Go's own traces. Those look up each place without stepping back to the call, so a
// line may be that of the next statement.
func (g *Goroutine) appendLine(b []byte) []byte {
	if g.line == nil {
		return b
	}
	for i := range g.line.Ancestors {
		a := &g.line.Ancestors[i]
		b = fmt.Appendf(b, "[originating from goroutine %d]:\n", a.ID)
		for _, pc := range a.Calls {
			at := framesOf(g.space.Symbolize(pc, handle.Lines, nil))
			if !tracesShow(&at[len(at)-1]) {
				continue
			}
			f := at[0]
			f.Inlined = false
			b = fmt.Appendf(b, "%s(...)\n", clean.Text(traceName(&f)))
			b = appendPlace(b, &f)
		}
		if a.Cut {
			b = append(b, "...additional frames elided...\n"...)
		}
		b = appendCreator(b, g.creatorOf(a.ID, a.Creator), 0)
	}
	if g.line.Cut {
		b = append(b, "...additional ancestors elided...\n"...)
	}
	return b
}
