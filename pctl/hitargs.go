package pctl

import (
	"errors"
	"strings"

	"ptools/internal/calls"
)

var (
	// ErrNotEntry: the arguments of a function are known where it begins only.
	ErrNotEntry = calls.ErrNotEntry

	errLateArgs = errors.New("the thread has run on since it hit the breakpoint (it blocked the signals of uprobes): its arguments are not known")
)

// entryArgs is how arguments are read, by the addresses of a breakpoint. The control goroutine has it.
type entryArgs map[uint64]*calls.EntryArguments

// mostEntries bounds what is kept of a breakpoint that comes to ever more places.
const mostEntries = 4096

// Args returns the arguments of the function at whose beginning the thread stands, as Process.Calls does. With debug information they have
// names and types, else they are the six words that integers would be in. At another place, as a line or an offset, the error is ErrNotEntry.
// The first hit of a function takes longer, because debug information is read.
func (h *Hit) Args() ([]Value, error) {
	if h.Late {
		return nil, errLateArgs
	}
	b := h.Breakpoint
	space := b.p.space()
	of := b.args[h.Addr]
	if o, ok := space.Object(h.Addr); of == nil || !ok || !of.Of(o.File) {
		var err error
		if of, err = calls.ArgumentsAt(space, h.Addr); err != nil {
			return nil, err
		}
		if b.args == nil || len(b.args) >= mostEntries {
			b.args = entryArgs{}
		}
		b.args[h.Addr] = of
	}
	regs := h.Registers()
	return valuesOf(of.Read(regs.callWords(), regs.SP(), h)), nil
}

// ArgsText returns arguments in the form of pcalls: a=1, s="text". It is not fit for a terminal: names and texts are the target's.
func ArgsText(args []Value) string {
	texts := make([]string, len(args))
	for i, v := range args {
		if texts[i] = v.Text; v.Name != "" {
			texts[i] = v.Name + "=" + v.Text
		}
	}
	return strings.Join(texts, ", ")
}
