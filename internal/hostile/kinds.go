package hostile

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/ulikunitz/xz/lzma"
)

// kinds are the attacks. n is how often something is repeated; 0: as often as a file of some megabytes can have it.
var kinds = map[string]func(f *File, n int){
	"plain":    func(f *File, n int) { f.symbols(".symtab", 2, 0) },
	"names":    names,
	"notes":    notes,
	"segments": segments,
	"symbols":  func(f *File, n int) { f.symbols(".symtab", 2, or(n, 200_000)) },
	"dynamic":  func(f *File, n int) { f.symbols(".dynsym", 11, or(n, 200_000)) },
	"tables":   tables,
	"plt":      plt,
	"versions": versions,
	"hash":     hash,
	"gotab":    gotab,
	"gofuncs":  gofuncs,
	"units":    units,
	"abbrev":   abbrev,
	"nested":   nested,
	"origins":  origins,
	"ranges":   ranges,
	"lines":    lines,
	"program":  lineProgram,
	"cie":      func(f *File, n int) { f.frames(1, 1, make([]byte, or(n, 8<<20))) },
	"cies":     func(f *File, n int) { f.frames(or(n, 2000), 1, nil) },
	"fdes":     func(f *File, n int) { f.frames(1, or(n, 1500), nil) },
	"pushes":   func(f *File, n int) { f.frames(1, 1, bytes.Repeat([]byte{0x0a}, or(n, 4<<20))) }, // DW_CFA_remember_state
	"zlib":     zlibBomb,
	"zstd":     zstdBomb,
	"letters":  func(f *File, n int) { f.letters(or(n, 4000)) },
	"shared":   func(f *File, n int) { f.shared(or(n, 48_000)) },
	"debuglink": func(f *File, n int) {
		f.repeat(or(n, 10_000), section{name: ".gnu_debuglink", kind: 1}, []byte(DebugLink+"\x00\x00\x00\x00\x00\x00\x00\x00"))
	},
	"debugdata":  debugData,
	"escapes":    escapes,
	"bignames":   bigNames,
	"aliases":    aliases,
	"buildids":   buildIDs,
	selfLink:     leadsToItself,
	altLink:      sharedInItself,
	"splits":     splits,
	"beside":     beside,
	"needed":     needed,
	"aranges":    aranges,
	"wanders":    wanders,
	"backwards":  backwards,
	"window":     window,
	"skipped":    skipped,
	"stored":     stored,
	"dictionary": dictionary,
}

// Kinds returns the names of the attacks, in order.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// Build returns a program that makes an attack, with what it repeats repeated n times. n = 0 fills some megabytes.
func Build(kind string, n int) []byte {
	f := newFile()
	kinds[kind](f, n)
	return f.bytes()
}

// part returns how large that is which is repeated: most, or less in a small file.
func part(n, most int) int {
	if n == 0 {
		return most
	}
	return min(most, 16*n)
}

func or(n, most int) int {
	if n == 0 {
		return most
	}
	return n
}

// names: all sections have one long name.
func names(f *File, n int) {
	long := uint32(len(f.names))
	f.names = append(append(f.names, bytes.Repeat([]byte("x"), 32767)...), 0)
	for range or(n, 65_000) {
		f.sections = append(f.sections, section{nameOff: long, kind: 8})
	}
}

// notes: all sections are the same megabyte of empty notes.
func notes(f *File, n int) {
	f.repeat(or(n, 65_000), section{name: "n", kind: 7}, make([]byte, part(n, 1<<20)))
}

// segments: all segments are the same megabytes of empty notes.
func segments(f *File, n int) {
	size := part(n, 4<<20)
	off := f.put(make([]byte, size))
	for range min(or(n, most), most) {
		f.segments = append(f.segments, segment{4, 4, off, base + off, uint64(size)})
	}
}

// tables: all sections are the same symbol table.
func tables(f *File, n int) {
	f.symbols(".symtab", 2, part(n, 20_000))
	s := f.sections[len(f.sections)-2]
	for range or(n, 20_000) {
		f.sections = append(f.sections, s)
	}
}

// plt: the text is a PLT, and all sections are the same megabyte of relocations of one slot.
func plt(f *File, n int) {
	f.sections[1].name = ".plt"
	rel := binary.LittleEndian.AppendUint64(le.AppendUint64(le.AppendUint64(nil, 0x500000), 7), 0)
	f.repeat(or(n, 20_000), section{name: ".rela.plt", kind: 4, flags: 2, entry: 24}, bytes.Repeat(rel, part(n, 43_690)))
}

// versions: definitions of versions that follow each other in a circle.
func versions(f *File, n int) {
	f.symbols(".dynsym", 11, 1000)
	def := make([]byte, 20)
	copy(def, []byte{1, 0, 0, 0, 2, 0, 0xff, 0xff})
	le.PutUint32(def[12:], 0)
	le.PutUint32(def[16:], 0) // the next is this one
	f.repeat(or(n, 10_000), section{name: ".gnu.version_d", kind: 0x6ffffffd, info: 0xffffffff}, bytes.Repeat(def, part(n, 50_000)))
	f.section(section{name: ".gnu.version", kind: 0x6fffffff, entry: 2}, bytes.Repeat([]byte{2, 0}, part(n, 1<<20)))
}

// hash: tables whose chains lead to themselves.
func hash(f *File, n int) {
	f.symbols(".dynsym", 11, 1000)
	words := func(v ...uint32) (b []byte) {
		for _, w := range v {
			b = le.AppendUint32(b, w)
		}
		return b
	}
	size := uint32(or(n, 1<<20))
	f.section(section{name: ".hash", kind: 5, entry: 4}, append(words(1, size, 1), bytes.Repeat(words(1), int(size))...))
	f.section(section{name: ".gnu.hash", kind: 0x6ffffff6}, append(words(1, 1, 1, 0, 0xffffffff, 0xffffffff, 1), bytes.Repeat(words(2), int(size))...))
}

// goNote makes the file look like a Go program.
func (f *File) goNote() {
	note := "\x04\x00\x00\x00\x04\x00\x00\x00\x04\x00\x00\x00Go\x00\x00abcd"
	off := f.put([]byte(note))
	f.segments = append(f.segments, segment{4, 4, off, base + off, uint64(len(note))})
}

// goHeader returns the header of a function table (runtime.pcHeader).
func goHeader(functions uint64, offsets ...uint64) []byte {
	h := []byte("\xf1\xff\xff\xff\x00\x00\x01\x08")
	h = le.AppendUint64(le.AppendUint64(le.AppendUint64(h, functions), 1), text)
	for _, off := range offsets {
		h = le.AppendUint64(h, off)
	}
	return h
}

// gotab: a stripped Go program with very many headers of a function table, none of which is one.
func gotab(f *File, n int) {
	f.goNote()
	f.sections = f.sections[:1]
	headers := bytes.Repeat(goHeader(1, 8, 8, 8, 8, 8), or(n, 8<<20/72))
	for len(f.data)%4096 != 0 {
		f.data = append(f.data, 0)
	}
	off := f.put(headers)
	f.segments = append(f.segments, segment{1, 4, off, 0x10000000, uint64(len(headers))})
}

// gofuncs: a function table all of whose functions are one, with the same long tables of values.
func gofuncs(f *File, n int) {
	f.goNote()
	functions := or(n, 400_000)
	const header = 72
	values := bytes.Repeat([]byte{2, 1}, part(n, 1<<19)) // the value grows by one at each byte of code
	name := append(bytes.Repeat([]byte("g"), 32<<10-2), 0)
	table := le.AppendUint32(nil, 0)
	for i := range functions {
		table = le.AppendUint32(le.AppendUint32(table[:len(table)-4], uint32(i%f.textSize)), uint32(functions+1)*8)
		table = le.AppendUint32(table, uint32(f.textSize))
	}
	table = append(table, make([]byte, 8)...)
	const at = 2                                                                                   // in values, of all tables
	for _, v := range []uint32{0, 0, 0, 0, at, at, at, 3, 0, 1, 4 << 24, at, at, at, 0, 0, 0, 0} { // runtime._func, three tables of values, four of data
		table = le.AppendUint32(table, v)
	}
	names := header + uint64(len(values))
	tab := goHeader(uint64(functions), names, header, names, header, names+uint64(len(name)))
	f.section(section{name: ".gopclntab", kind: 1, flags: 2, addr: 0x20000000}, slices.Concat(tab, values, name, table))
}

// DebugLink is the name of the separate debug file of the kind debuglink, in the directory of the program.
const DebugLink = "hostile.debug"

// debugData: symbols that are packed, and become a thousand times as many bytes.
func debugData(f *File, n int) {
	var chunk bytes.Buffer
	w, err := lzma.Writer2Config{}.NewWriter2(&chunk)
	if err == nil {
		_, err = w.Write(make([]byte, 1<<20))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // a buffer takes everything
	}
	head := append([]byte("\xfd7zXZ\x00\x00\x04\x00\x00\x00\x00"), 2, 0, 0x21, 1, 22, 0, 0, 0, 0, 0, 0, 0) // a block of LZMA2, 8 MB of dictionary
	chunks := bytes.Repeat(chunk.Bytes()[:chunk.Len()-1], or(n, 2000))                                     // each begins anew
	f.repeat(or(n, 100), section{name: ".gnu_debugdata", kind: 1}, slices.Concat(head, chunks, []byte{0}))
}

// zlibBomb: sections that claim, and are, zeros.
func zlibBomb(f *File, n int) {
	var z bytes.Buffer
	size := or(n, 512<<20)
	z.Write(le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, 1), uint64(size)), 1))
	w := zlib.NewWriter(&z)
	zeros := make([]byte, 1<<20)
	for left := size; left > 0; left -= len(zeros) {
		w.Write(zeros[:min(left, len(zeros))])
	}
	w.Close()
	for _, name := range []string{".debug_line", ".debug_str", ".debug_line_str", ".debug_aranges"} {
		f.section(section{name: name, kind: 1, flags: 0x800}, z.Bytes())
	}
	f.unit(uint64(size) - 64)
}

// zstdBomb: a section that claims a tebibyte, in runs of zeros.
func zstdBomb(f *File, n int) {
	const block = 128 << 10
	blocks := or(n, 1<<23)
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, (17 - 10) << 3}
	run := le.AppendUint32(nil, 1<<1|block<<3)[:3]
	frame = append(frame, bytes.Repeat(append(run, 0), blocks)...)
	frame = append(frame, le.AppendUint32(nil, 1|1<<1|1<<3)[:3]...)
	size := uint64(blocks)*block + 1
	z := le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, 2), size), 1)
	f.section(section{name: ".debug_line", kind: 1, flags: 0x800}, append(z, append(frame, 0)...))
	f.unit(size - 65)
}
