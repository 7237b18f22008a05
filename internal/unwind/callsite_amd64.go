package unwind

import (
	"encoding/binary"

	"ptools/internal/x86"
)

// codeWindow is how much code is read at a time.
const codeWindow = 256

// maxCall is the length of the longest call instruction without needless prefixes:
// REX, opcode, ModRM, SIB, 32-bit displacement.
const maxCall = 8

// endsInCall reports whether the last instruction in code may be a call, and
// returns its target if that is part of the instruction. after is the address
// behind it.
func endsInCall(code []byte, after uint64) (target uint64, ok bool) {
	n := len(code)
	if n >= 5 && code[n-5] == 0xe8 {
		return after + uint64(int64(int32(binary.LittleEndian.Uint32(code[n-4:])))), true
	}
	// call r/m64 is FF /2; its length follows from ModRM and SIB.
	for size := 2; size <= 7 && size <= n; size++ {
		if call := code[n-size:]; call[0] == 0xff && call[1]>>3&7 == 2 && x86.Length(call) == size {
			return 0, true
		}
	}
	return 0, false
}

// isCallOf reports whether pc is behind a call. If the call has its target in it, that must be
// the function at start.
func (r *codeReader) isCallOf(pc, start uint64) bool {
	target, ok := r.called(pc)
	if !ok || target == 0 {
		return ok
	}
	m, _ := r.code.Find(pc - 1)
	return target-m.Bias == start || r.jumpsTo(&m, target-m.Bias, start)
}

// jumpsTo reports whether a function at from does little more than jump to start, like a
// wrapper for another calling convention, or one of the many entries of the write barrier.
func (r *codeReader) jumpsTo(m *Mapping, from, start uint64) bool {
	const most, size = 48, 5 // jmp rel32
	f, ok := m.Table.goFunction(from)
	if !ok || f.Entry != from {
		return false
	}
	code := r.readCode(m, from+m.Bias, int(min(f.End-from, most)))
	for i := 0; i+size <= len(code); i++ {
		to := from + uint64(i+size) + uint64(int64(int32(binary.LittleEndian.Uint32(code[i+1:]))))
		if code[i] == 0xe9 && to == start {
			return true
		}
	}
	return false
}
