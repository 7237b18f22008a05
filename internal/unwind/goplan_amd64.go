package unwind

import (
	"encoding/binary"
	"strings"

	"ptools/internal/elfsym"
)

// goPlan returns the plan for a Go function. Frame sizes come from the linker's
// table. The functions that change stacks are known by name, as
// runtime/traceback.go knows them by number.
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
	case "runtime.clone":
		if p.ret {
			n.way = wayTop
		}
	case "runtime.mcall":
		if p.ret { // on another stack than the goroutine's by now
			n.way = wayTop
		} else if delta > 0 {
			n.way = wayGoFP
		}
	case "runtime.morestack":
		n.way = wayGoGrow
		n.tls = l.goTLS(p, f)
	case "runtime.cgocallback":
		n.way = wayGoC
		n.tls = l.goTLS(p, f)
	case "runtime.systemstack", "runtime.asmcgocall":
		if delta > 0 {
			n.way = wayGoSwitch
			n.tls = l.goTLS(p, f)
		}
	case "runtime.sigtramp", "runtime.cgoSigtramp":
		// Top frames to the runtime; they return to the signal trampoline.
	case "runtime.schedule", "runtime.stopm":
		n.parks = true
	case "crosscall2":
		n.saves = delta >= crosscallFrame
	case "runtime.sigpanic", "runtime.sigpanic0", "runtime.asyncPreempt", "runtime.debugCallV2":
		n.forced = true // a signal handler pushed the program counter
	default:
		switch {
		case f.Flags&elfsym.GoTopFrame != 0 || strings.HasPrefix(f.Name, "_rt0_"):
			n.way = wayTop
		case f.Flags&elfsym.GoSPWrite != 0 && delta > 0:
			n.way = wayGoFP
		}
	}
	if n.way == wayGoFP || n.way == wayGoSwitch {
		const setFP = "\x48\x89\xe5" // mov %rsp,%rbp: is still to come
		if !p.ret && string(l.readCode(&p.m, p.pc, len(setFP))) == setFP {
			n.way = wayGo
		}
	}
	return n, true
}

// goTLS returns where the runtime keeps g, relative to the thread pointer. It is -8
// in programs that the Go linker alone made. The C linker may put it elsewhere. It
// can be read from the functions that change stacks, which all load g first.
func (l *planner) goTLS(p *place, f elfsym.GoFunc) int32 {
	const usual = -8
	n := min(f.End-f.Entry, codeWindow)
	code := l.readCode(&p.m, f.Entry+p.m.Bias, int(n))
	for i := 0; i+9 <= len(code); i++ {
		// mov %fs:disp32,%reg
		if code[i] == 0x64 && code[i+1]&^0x04 == 0x48 && code[i+2] == 0x8b &&
			code[i+3]&0xc7 == 0x04 && code[i+4] == 0x25 {
			return int32(binary.LittleEndian.Uint32(code[i+5:]))
		}
		// mov disp32(%rip),%reg, the offset from the global offset table;
		// then mov %fs:(%reg),%reg
		if code[i]&^0x04 == 0x48 && code[i+1] == 0x8b && code[i+2]&0xc7 == 0x05 &&
			i+11 <= len(code) && code[i+7] == 0x64 {
			at := f.Entry + p.m.Bias + uint64(i) + 7 + uint64(int64(int32(binary.LittleEndian.Uint32(code[i+3:]))))
			if v, ok := l.other.word(at); ok && v == uint64(int64(int32(v))) {
				return int32(v)
			}
		}
	}
	return usual
}
