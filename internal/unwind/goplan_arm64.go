package unwind

import (
	"strings"

	"ptools/internal/a64"
	"ptools/internal/elfsym"
)

// setGoFP is the instruction by which a Go function makes its frame pointer: sub x29, sp, #8. The two instructions in front of it save
// registers.
const setGoFP = "\xfd\x23\x00\xd1"

// goPlan returns the plan for a Go function. Frame sizes come from the linker's table. The functions that change stacks are
// known by name, as runtime/traceback.go knows them by number.
func (l *planner) goPlan(p *place, link uint64, f elfsym.GoFunc) (plan, bool) {
	table := p.m.Table.contents().goTable()
	if table == nil {
		return plan{}, false
	}
	delta, ok := table.SPDelta(link)
	if !ok {
		return plan{}, false
	}
	n := plan{way: wayGo, start: f.Entry, delta: delta}
	switch f.Name {
	case "runtime.goexit", "runtime.mstart", "runtime.rt0_go", "runtime.gogo", "gogo":
		n.way = wayTop
	case "runtime.clone", "runtime.mcall":
		if p.ret { // on another stack by now
			n.way = wayTop
		}
	case "runtime.morestack":
		n.way = wayGoGrow
	case "runtime.systemstack", "runtime.asmcgocall":
		if p.ret {
			n.way = wayGoSwitch
		}
	case "runtime.schedule", "runtime.stopm":
		n.parks = true
	case "runtime.sigpanic", "runtime.sigpanic0", "runtime.asyncPreempt", "runtime.debugCallV2":
		n.forced = true // a signal handler has set LR to the interrupted instruction, and pushed what LR was
	case "runtime.sigtramp", "runtime.cgoSigtramp":
		// Top frames to the runtime; they return to the signal trampoline.
	default:
		switch {
		case f.Flags&elfsym.GoTopFrame != 0 || strings.HasPrefix(f.Name, "_rt0_"):
			n.way = wayTop
		case f.Flags&elfsym.GoSPWrite != 0 && delta > 0 && (p.ret || !strings.Contains(string(l.readCode(&p.m, p.pc, 2*a64.Size)), setGoFP)):
			n.way = wayGoFP
		}
	}
	return n, true
}
