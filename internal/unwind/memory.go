package unwind

import (
	"encoding/binary"
	"io"
	"slices"
)

// A view is the memory that one unwinding reads: the copied stack and pages, and a few
// pages of other memory, each read once.
type view struct {
	base    uint64
	data    []byte
	copies  Pages
	mem     io.ReaderAt
	addrs   [viewPages]uint64 // of pages; 1: unused
	pages   [viewPages]page
	next    int    // index of the page that is replaced next
	outside uint64 // reads through mem
	strays  uint64 // words that were not in the copies

	needs [viewPages]uint64 // the first pages of words that were not in the copied stack
	need  int               // how many
}

const (
	pageSize  = 4096
	viewPages = 8
)

// A page is the readable part of one page of memory.
type page struct {
	n    int // bytes read; 0: unreadable
	data [pageSize]byte
}

// reset begins with another stack.
func (v *view) reset(s *Stack) {
	v.base, v.data, v.copies, v.mem = s.Base, s.Data, s.Pages, s.Mem
	for i := range v.addrs {
		v.addrs[i] = 1
	}
}

// word reads 8 bytes at an address.
func (v *view) word(addr uint64) (uint64, bool) {
	if w, ok := v.copied(addr); ok {
		return w, true
	}
	v.needed(addr &^ (pageSize - 1))
	if w, ok := v.paged(addr); ok {
		return w, true
	}
	return v.far(addr)
}

// needed takes note of a page.
func (v *view) needed(addr uint64) {
	if v.need < len(v.needs) && !slices.Contains(v.needs[:v.need], addr) {
		v.needs[v.need] = addr
		v.need++
	}
}

// paged reads 8 bytes of a copied page.
func (v *view) paged(addr uint64) (uint64, bool) {
	if v.copies == nil || addr%pageSize > pageSize-8 {
		return 0, false
	}
	p := v.copies.Page(addr &^ (pageSize - 1))
	if len(p) < pageSize {
		return 0, false
	}
	return binary.LittleEndian.Uint64(p[addr%pageSize:]), true
}

// copied reads 8 bytes of the copied stack.
func (v *view) copied(addr uint64) (uint64, bool) {
	if off := addr - v.base; off < uint64(len(v.data)) && uint64(len(v.data))-off >= 8 {
		return binary.LittleEndian.Uint64(v.data[off:]), true
	}
	return 0, false
}

// far reads a word that is not in the copy.
func (v *view) far(addr uint64) (uint64, bool) {
	if v.mem == nil {
		return 0, false
	}
	v.strays++
	off := int(addr % pageSize)
	if off <= pageSize-8 {
		p := v.page(addr - uint64(off))
		if p.n < off+8 {
			return 0, false
		}
		return binary.LittleEndian.Uint64(p.data[off:]), true
	}
	var b [8]byte
	if !v.bytes(b[:], addr) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

// bytes fills b from other memory than the copied stack.
func (v *view) bytes(b []byte, addr uint64) bool {
	if v.mem == nil {
		return false
	}
	for len(b) > 0 {
		off := int(addr % pageSize)
		p := v.page(addr - uint64(off))
		if p.n <= off {
			return false
		}
		n := copy(b, p.data[off:p.n])
		b = b[n:]
		addr += uint64(n)
	}
	return true
}

// page returns the page at a page-aligned address. A read never crosses into
// another page, which might be unmapped.
func (v *view) page(addr uint64) *page {
	for i, a := range v.addrs {
		if a == addr {
			return &v.pages[i]
		}
	}
	v.addrs[v.next] = addr
	p := &v.pages[v.next]
	v.next = (v.next + 1) % viewPages
	v.outside++
	n, _ := v.mem.ReadAt(p.data[:], int64(addr))
	p.n = max(n, 0)
	return p
}

// covers reports whether addr lies in the copied stack.
func (v *view) covers(addr uint64) bool { return addr-v.base < uint64(len(v.data)) }
