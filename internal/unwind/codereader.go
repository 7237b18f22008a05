package unwind

import "ptools/internal/elfsym"

// A codeReader reads the code of a process: code of files through their Tables, other code in memory. It
// remembers call sites.
type codeReader struct {
	code   Code
	other  *view // memory of code that is in no file
	calls  memo[callsite]
	buf    [codeWindow]byte
	stacks uint64 // number of stacks that have been unwound: the clock by which entries for code made at run time age
}

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
