package unwind

import "ptools/internal/elfsym"

// readCode fills r.buf with up to n bytes of the target's code from an address on,
// and returns them. It returns fewer at the end of a segment, and none if the code
// cannot be read.
func (r *codeReader) readCode(m *Mapping, addr uint64, n int) []byte {
	for ; n > 0; n /= 2 {
		b := r.buf[:n]
		if m.Table != nil {
			if m.Table.obj.ReadAddr(b, addr-m.Bias) {
				return b
			}
		} else if r.other.bytes(b, addr) {
			return b
		}
	}
	return nil
}

// isCode reports whether addr is a possible return address.
func (r *codeReader) isCode(addr uint64) bool {
	_, ok := r.code.Find(addr - 1)
	return ok
}

// isMade reports whether addr is in code made at run time. Between such functions that is
// enough for a return address: an interpreter that is made at run time pushes the address
// where it is to continue, and jumps.
func (r *codeReader) isMade(addr uint64) bool {
	m, ok := r.code.Find(addr)
	return ok && m.Table == nil
}

// isStart reports whether pc is in the code with which the kernel starts a
// program or a thread: at the entry point, or in front of exit(2), which a
// thread's first function calls instead of a return.
func (r *codeReader) isStart(m *Mapping, pc uint64) bool {
	if entry := m.Table.obj.Entry(); entry != 0 && pc-m.Bias-entry < entrySize {
		return true
	}
	code := r.readCode(m, pc, 32)
	for i := 2; i+1 < len(code); i++ {
		if code[i] != 0x0f || code[i+1] != 0x05 {
			continue
		}
		const exit = 60
		return code[i-1] == exit && code[i-2] == 0xb0 || // mov $60,%al; syscall
			i >= 5 && string(code[i-5:i]) == "\xb8\x3c\x00\x00\x00" // mov $60,%eax; syscall
	}
	return false
}

// goCaller returns the Go function that a return address is in, and the link-time address before the return
// address.
func (r *codeReader) goCaller(pc uint64) (f elfsym.GoFunc, link uint64, ok bool) {
	m, ok := r.code.Find(pc - 1)
	if !ok || m.Table == nil {
		return f, 0, false
	}
	link = pc - 1 - m.Bias
	f, ok = m.Table.goFunction(link)
	return f, link, ok
}

// isGoexit reports whether the first function of a goroutine returns to pc. That address is
// behind the first instruction, of one byte, of a function that nothing calls
// (runtime.newproc1).
func (r *codeReader) isGoexit(pc uint64) bool {
	f, link, ok := r.goCaller(pc)
	return ok && f.Flags&elfsym.GoTopFrame != 0 && link == f.Entry
}

// isCrosscall reports whether pc is in crosscall2, the only caller of cgocallback.
func (r *codeReader) isCrosscall(pc uint64) bool {
	f, _, ok := r.goCaller(pc)
	return ok && f.Name == "crosscall2"
}
