package perfevent

import (
	"bytes"
	"encoding/binary"
)

// Fill writes what the program writes at the beginning of a call: the registers, in the order of Words, the words behind the return address at
// slot, and the copies. read reads the thread's memory, all of it or nothing. It is for a thread that a debugger has stopped there.
func (v *CallValues) Fill(regs [WordRegs]uint64, slot uint64, copies *Copies, read func(b []byte, addr uint64) bool) {
	*v = CallValues{}
	copy(v.Words[:], regs[:])
	v.Words[WordSlot] = slot
	var stack [8 * (WordLoads - WordStack)]byte
	if read(stack[:], slot+8) {
		v.Status[StatusStack] = 1
		for i := range WordLoads - WordStack {
			v.Words[WordStack+i] = binary.LittleEndian.Uint64(stack[8*i:])
		}
	}
	for i, c := range copies[:FirstReturnLoad] {
		if c == 0 {
			continue
		}
		addr := v.Words[c>>8&lastWord] + uint64(int64(int32(c>>32)))
		switch c & 0xff {
		case copyLoad:
			var b [16]byte
			if read(b[:], addr) {
				v.Status[i] = 1
				v.Words[WordLoads+2*i] = binary.LittleEndian.Uint64(b[:])
				v.Words[WordLoads+2*i+1] = binary.LittleEndian.Uint64(b[8:])
			}
		case copyText:
			v.Status[i] = fillText(v.Texts[i-FirstEntryText][:MostText+1], addr, read)
		case copyBytes:
			n := min(v.Words[c>>16&lastWord], MostText)
			addr = v.Words[c>>8&lastWord]
			if n == 0 || read(v.Texts[i-FirstEntryText][:n], addr) {
				v.Status[i] = 1
			}
		}
	}
}

// lastWord is the greatest number of a word.
const lastWord = 31

// page is the size of a page, and a part of larger ones.
const page = 4096

// fillText reads a text that ends with a zero byte. It returns its length with that, 0 if it cannot be read.
func fillText(to []byte, addr uint64, read func(b []byte, addr uint64) bool) uint8 {
	for n := uint64(0); n < uint64(len(to)); {
		part := to[n:min(uint64(len(to)), n+page-(addr+n)%page)]
		if !read(part, addr+n) {
			clear(to)
			return 0
		}
		if end := bytes.IndexByte(part, 0); end >= 0 {
			clear(part[end:])
			return uint8(n) + uint8(end) + 1
		}
		n += uint64(len(part))
	}
	return uint8(len(to))
}
