package unwind

import (
	"encoding/binary"

	"ptools/internal/a64"
)

// codeWindow is how much code is read at a time.
const codeWindow = 256

// maxCall is the length of a call instruction.
const maxCall = a64.Size

// endsInCall reports whether code is a call, and returns its target if that is part of the instruction. after is the address
// behind it.
func endsInCall(code []byte, after uint64) (target uint64, ok bool) {
	off, direct, ok := a64.IsCall(binary.LittleEndian.Uint32(code))
	if !direct {
		return 0, ok
	}
	return after - a64.Size + uint64(off), ok
}
