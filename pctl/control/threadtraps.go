package control

import (
	"slices"

	"ptools/internal/tracee"
	"ptools/pctl/bkpt"
)

// threadTraps is what traps know of a thread.
type threadTraps struct {
	at     *bkpt.Breakpoint // where it is in PosAtTrap, and will be after PosTrapDue; or nil
	step   *step            // of PosStepping
	cut    bool             // of PosTrapDue: our interrupt may have ended the call that was stepped
	marks  []mark           // hits that were reported, of instructions that are still to be executed
	uprobe uprobeHit        // at a uprobe
	lone   *Lone            // not nil: it is to be stopped by itself
}

// trapsOf returns what traps know of a thread.
func trapsOf(t *tracee.Thread) *threadTraps { return t.Above.(*threadTraps) }

// mark remembers a thread that was reported at a breakpoint, and that a signal then sent
// elsewhere before it could execute the instruction. When the thread comes back with the
// same stack pointer, it is not reported again.
type mark struct{ addr, sp uint64 }

// maxMarks bounds the marks of a thread: a handler that never returns leaves its mark
// behind.
const maxMarks = 8

func (k *threadTraps) mark(addr, sp uint64) {
	if len(k.marks) == maxMarks {
		k.marks = slices.Delete(k.marks, 0, 1)
	}
	k.marks = append(k.marks, mark{addr, sp})
}

// unmark reports whether the thread was reported here, and forgets that.
func (k *threadTraps) unmark(addr, sp uint64) bool {
	i := slices.Index(k.marks, mark{addr, sp})
	if i < 0 {
		return false
	}
	k.marks = slices.Delete(k.marks, i, i+1)
	return true
}
