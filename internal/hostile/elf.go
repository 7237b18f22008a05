package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Where the parts of a program are.
const (
	base    = 0x400000
	textOff = 0x2000
	text    = base + textOff
	depth   = 100 // calls
	most    = 30  // program headers that the kernel is certain to take
)

var le = binary.LittleEndian

// A File is a file in the making.
type File struct {
	data     []byte
	sections []section
	segments []segment
	starts   []int // of the functions, in the text
	textSize int
	names    []byte // of sections
}

type section struct {
	name              string
	nameOff           uint32 // in names, if name is empty
	kind              uint32
	flags, addr       uint64
	off, size         uint64
	link, info, entry uint64
}

type segment struct {
	kind, flags uint32
	off, addr   uint64
	size        uint64
}

// newFile returns a program with its code and the symbols of its functions.
func newFile() *File {
	f := &File{data: make([]byte, textOff), sections: make([]section, 1), names: []byte{0}}
	f.code()
	f.sections = append(f.sections, section{name: ".text", kind: 1, flags: 6, addr: text, off: textOff, size: uint64(f.textSize)})
	f.segments = []segment{{1, 5, 0, base, uint64(textOff + f.textSize)}, {0x6474e551, 6, 0, 0, 0}}
	return f
}

// code writes functions that call each other, the last of which spins.
func (f *File) code() {
	add := func(b string) {
		f.starts = append(f.starts, len(f.data)-textOff)
		f.data = append(f.data, b...)
	}
	add("\xe8\x03\x00\x00\x00\x0f\x0b\x90") // call the next; ud2
	for range depth {
		add("\xe8\x03\x00\x00\x00\xc3\x90\x90") // call the next; ret
	}
	add("\x48\xff\xc0\xeb\xfb\x90\x90\x90") // inc %rax; jmp to it
	f.textSize = len(f.data) - textOff
}

// function returns where the i-th function begins and ends.
func (f *File) function(i int) (start, end uint64) {
	end = uint64(f.textSize)
	if i+1 < len(f.starts) {
		end = uint64(f.starts[i+1])
	}
	return text + uint64(f.starts[i]), text + end
}

// symbols adds a symbol table with the functions, and n times one more that begins at each byte of the text in turn, with
// a long name.
func (f *File) symbols(table string, kind uint32, n int) {
	var strs, syms bytes.Buffer
	strs.WriteByte(0)
	syms.Write(make([]byte, 24))
	sym := func(name uint32, addr, size uint64) {
		syms.Write(le.AppendUint64(le.AppendUint64(append(le.AppendUint32(nil, name), 0x12, 0, 1, 0), addr), size))
	}
	for i := range f.starts {
		start, end := f.function(i)
		sym(uint32(strs.Len()), start, end-start)
		fmt.Fprintf(&strs, "f%d\x00", i)
	}
	long := uint32(strs.Len())
	strs.Write(append(bytes.Repeat([]byte("n"), 32<<10), 0))
	for i := range n {
		sym(long+uint32(i%1000), text+uint64(i%f.textSize), uint64(f.textSize))
	}
	link := len(f.sections) + 1
	f.section(section{name: table, kind: kind, link: uint64(link), info: 1, entry: 24}, syms.Bytes())
	f.section(section{name: ".strtab", kind: 3}, strs.Bytes())
}

// put appends bytes, aligned, and returns where they are.
func (f *File) put(b []byte) uint64 {
	for len(f.data)%16 != 0 {
		f.data = append(f.data, 0)
	}
	off := len(f.data)
	f.data = append(f.data, b...)
	return uint64(off)
}

// section adds a section with its bytes.
func (f *File) section(s section, b []byte) {
	s.off, s.size = f.put(b), uint64(len(b))
	f.sections = append(f.sections, s)
}

// repeat adds n sections over the same bytes.
func (f *File) repeat(n int, s section, b []byte) {
	s.off, s.size = f.put(b), uint64(len(b))
	for range n {
		f.sections = append(f.sections, s)
	}
}

// bytes returns the file.
func (f *File) bytes() []byte {
	f.sections = append(f.sections, section{name: ".shstrtab", kind: 3})
	known := make(map[string]uint32)
	for i := range f.sections {
		s := &f.sections[i]
		if s.name == "" {
			continue
		}
		if _, ok := known[s.name]; !ok {
			known[s.name] = uint32(len(f.names))
			f.names = append(append(f.names, s.name...), 0)
		}
		s.nameOff = known[s.name]
	}
	last := &f.sections[len(f.sections)-1]
	last.off, last.size = f.put(f.names), uint64(len(f.names))
	count, strings := len(f.sections), len(f.sections)-1
	if count >= 0xff00 {
		f.sections[0].size, f.sections[0].link = uint64(count), uint64(strings)
		count, strings = 0, 0xffff
	}
	var table []byte
	for _, s := range f.sections {
		table = le.AppendUint32(le.AppendUint32(table, s.nameOff), s.kind)
		for _, v := range []uint64{s.flags, s.addr, s.off, s.size} {
			table = le.AppendUint64(table, v)
		}
		table = le.AppendUint32(le.AppendUint32(table, uint32(s.link)), uint32(s.info))
		table = le.AppendUint64(le.AppendUint64(table, 1), s.entry)
	}
	off := f.put(table)
	f.header(off, count, strings)
	return f.data
}

// header writes the header and the program headers.
func (f *File) header(sections uint64, count, strings int) {
	h := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	h = le.AppendUint32(le.AppendUint16(le.AppendUint16(h, 2), 62), 1)
	for _, v := range []uint64{text, 64, sections} {
		h = le.AppendUint64(h, v)
	}
	h = le.AppendUint32(h, 0)
	for _, v := range []int{64, 56, len(f.segments), 64, count, strings} {
		h = le.AppendUint16(h, uint16(v))
	}
	for _, s := range f.segments {
		h = le.AppendUint32(le.AppendUint32(h, s.kind), s.flags)
		for _, v := range []uint64{s.off, s.addr, s.addr, s.size, s.size, 0x1000} {
			h = le.AppendUint64(h, v)
		}
	}
	copy(f.data[:textOff], h)
}

// uleb appends a number as DWARF has it.
func uleb(b []byte, v uint64) []byte {
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}
