package elfsym

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"
)

// tinyELF makes an executable with two segments, code and a dynamic section, a
// symbol table, a string table and a PLT. It needs no file.
func tinyELF() []byte {
	const code, plt, syms, strs, rela, headers = 0x100, 0x180, 0x200, 0x280, 0x300, 0x380
	b := make([]byte, headers+7*shdrSize)
	copy(b, elf.ELFMAG+"\x02\x01\x01")
	for off, v := range map[int]uint16{16: uint16(elf.ET_EXEC), 18: uint16(elf.EM_X86_64), 54: phdrSize, 56: 1, 58: shdrSize, 60: 7, 62: 4} {
		le.PutUint16(b[off:], v)
	}
	for off, v := range map[int]uint64{24: code, 32: 64, 40: headers, 64 + 8: 0, 64 + 16: 0, 64 + 32: headers, 64 + 40: headers} {
		le.PutUint64(b[off:], v)
	}
	le.PutUint32(b[64:], uint32(elf.PT_LOAD))
	le.PutUint32(b[68:], uint32(elf.PF_R|elf.PF_X))
	copy(b[plt+2:], "\xff\x25")
	le.PutUint32(b[plt+4:], 0x400-(plt+8))
	copy(b[strs:], "\x00_ZN2ns5outerEl\x00plain\x00.text\x00.plt\x00.symtab\x00.strtab\x00.rela\x00.dynsym\x00")
	name := func(s string) uint32 { return uint32(bytes.Index(b[strs:], []byte(s+"\x00"))) }
	for i, n := range []string{"_ZN2ns5outerEl", "plain"} {
		s := b[syms+(i+1)*symSize:]
		le.PutUint32(s, name(n))
		s[4], s[6] = 0x12, 1
		le.PutUint64(s[8:], code+uint64(16*i))
		le.PutUint64(s[16:], 16)
	}
	le.PutUint64(b[rela:], 0x400)
	le.PutUint64(b[rela+8:], 2<<32|uint64(elf.R_X86_64_JMP_SLOT))
	section := func(i int, n string, kind elf.SectionType, flags elf.SectionFlag, off, size uint64, link uint32) {
		h := b[headers+i*shdrSize:]
		le.PutUint32(h, name(n))
		le.PutUint32(h[4:], uint32(kind))
		le.PutUint64(h[8:], uint64(flags))
		le.PutUint64(h[16:], off)
		le.PutUint64(h[24:], off)
		le.PutUint64(h[32:], size)
		le.PutUint32(h[40:], link)
	}
	const x = elf.SHF_ALLOC | elf.SHF_EXECINSTR
	section(1, ".text", elf.SHT_PROGBITS, x, code, 0x80, 0)
	section(2, ".plt", elf.SHT_PROGBITS, x, plt, 0x20, 0)
	section(3, ".symtab", elf.SHT_SYMTAB, 0, syms, 3*symSize, 4)
	section(4, ".strtab", elf.SHT_STRTAB, 0, strs, 0x80, 0)
	section(5, ".rela", elf.SHT_RELA, elf.SHF_ALLOC, rela, relaSize, 6)
	section(6, ".dynsym", elf.SHT_DYNSYM, 0, syms, 3*symSize, 4)
	return b
}

func TestTiny(t *testing.T) {
	b := tinyELF()
	f, err := New(bytes.NewReader(b), int64(len(b)), "tiny", nil)
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{0x105: "ns::outer(long)", 0x11f: "plain", 0x120: "", 0x185: "plain@plt"} {
		if s, _ := f.Symbol(addr); s.Name != want {
			t.Errorf("%#x is %+v, not %s", addr, s, want)
		}
	}
	if s := f.ByName("ns::outer"); len(s) != 1 || s[0].Addr != 0x100 {
		t.Errorf("ns::outer is %+v", s)
	}
}

// FuzzFile calls every method of a damaged file.
func FuzzFile(f *testing.F) {
	f.Add(tinyELF())
	seed := func(argv ...string) {
		if _, err := exec.LookPath(argv[0]); err == nil {
			if b, err := os.ReadFile(build(f, argv...)); err == nil {
				f.Add(b)
			}
		}
	}
	seed("gcc", "-nostdlib", "-static", "testdata/sizeless.s")
	seed("gcc", "-g", "-gz=zlib", "-nostdlib", "-shared", "testdata/sizeless.s")
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := New(bytes.NewReader(b), int64(len(b)), "/fuzz/file", noSource{})
		if err != nil {
			return
		}
		ask(file)
	})
}

// ask calls every method of a file.
func ask(f *File) {
	f.BuildID()
	f.Restartable(f.Entry())
	f.Go()
	addrs := []uint64{f.Entry(), 0, ^uint64(0)}
	for _, s := range f.text {
		addrs = append(addrs, s.start, s.start+1, s.end-1, s.end)
	}
	for _, a := range addrs[:min(len(addrs), 64)] {
		if s, ok := f.Symbol(a); ok && (a < s.Addr || s.Size > 0 && a-s.Addr >= s.Size && s.Kind != Func && s.Kind != IFunc && s.Kind != Label) {
			panic("a symbol that does not cover the address")
		}
		f.Lines(a, nil)
	}
	for _, n := range []string{"plain", "malloc@plt", "memcpy@GLIBC_2.2.5", "ns::outer", "main.main", "f<int>(long)"} {
		f.ByName(n)
	}
	for i := range f.hdr.sections {
		if i < 32 {
			f.Section(f.hdr.sections[i].name)
		}
	}
	f.Section(".eh_frame")
	f.Section(".eh_frame_hdr")
	f.debugLink()
	f.miniDebug()
}

func FuzzGoTable(f *testing.F) {
	for magic := range goMagics {
		f.Add(layout(magic, 0x1000))
	}
	f.Fuzz(func(t *testing.T, table []byte) {
		file := goTableFile(table)
		g := openGoTable(file, file.file, 0x5000)
		if g == nil {
			return
		}
		g.module.get(func() goModule { return goModule{text: 0x1000, gofunc: 0x5000 + 256} })
		for pc := uint64(0xfff); pc < 0x1100; pc += 5 {
			if fn, ok := g.Func(pc); ok && (pc < fn.Entry || pc >= fn.End) {
				// The table is not sorted: the answer is any function.
				continue
			}
			g.SPDelta(pc)
			g.lines(pc, nil)
		}
		g.byName("main.old")
	})
}

func FuzzPerfMap(f *testing.F) {
	f.Add("1000 100 first\n1080 10 LazyCompile:~f /a b.js:3\n", 7)
	f.Add("ffffffffffffff00 200 wraps\n0x1 0x2 x\n\n \n1 1", 3)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		whole := readPerfMap(t, text+"\n")
		var parts PerfMap
		for _, size := range []int{min(max(cut, 0), len(text)), len(text) + 1} {
			if _, err := parts.Refresh(strings.NewReader(text+"\n"), int64(size)); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range whole.entries {
			for _, pc := range []uint64{e.start - 1, e.start, e.start + e.size - 1, e.start + e.size} {
				a, ok := whole.Lookup(pc)
				b, ok2 := parts.Lookup(pc)
				if a != b || ok != ok2 || ok && pc-a.Addr >= a.Size {
					t.Fatalf("%#x: read at once %+v %v, in parts %+v %v", pc, a, ok, b, ok2)
				}
			}
		}
	})
}

// FuzzLines reads damaged debug sections.
func FuzzLines(f *testing.F) {
	names := []string{".debug_info", ".debug_abbrev", ".debug_line", ".debug_rnglists", ".debug_ranges", ".debug_aranges"}
	if _, err := exec.LookPath("gcc"); err == nil {
		for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
			file := open(f, build(f, "gcc", "-O2", version, "-nostdlib", "-static", "testdata/small.c"), nil)
			var b [6][]byte
			for i, n := range names {
				_, b[i], _ = file.Section(n)
			}
			f.Add(b[0], b[1], b[2], b[3], b[4], b[5], file.Entry())
		}
	}
	f.Fuzz(func(t *testing.T, info, abbrev, line, rnglists, ranges, aranges []byte, entry uint64) {
		file := &File{image: image{hdr: &headers{}, text: []span{{0x1000, 0x500000}}}}
		d := newDwarfFile(file, file)
		d.info, d.abbrev, d.line = memView(info), memView(abbrev), memView(line)
		d.rnglists, d.ranges, d.arangeView = memView(rnglists), memView(ranges), memView(aranges)
		file.lines.get(func() *dwarfFile { return d })
		for a := entry; a < entry+64; a += 3 {
			file.Lines(a, nil)
		}
		d.eachUnit(func(u *unit) bool {
			d.table(u.off)
			return true
		})
		file.InlinedIn("inner")
	})
}

// FuzzPLT decodes arbitrary code and relocations.
func FuzzPLT(f *testing.F) {
	f.Add([]byte("\xff\x35\x00\x00\x00\x00\xff\x25\x00\x00\x00\x00\x0f\x1f\x40\x00\xf3\x0f\x1e\xfa\x68\x00\x00\x00\x00\xe9\x00\x00\x00\x00\x66\x90"),
		make([]byte, 2*relaSize), uint64(0x1000), uint64(16))
	f.Fuzz(func(t *testing.T, code, relocs []byte, addr, entsize uint64) {
		if len(code) == 0 {
			return
		}
		all := append(bytes.Clone(code), relocs...)
		n := uint64(len(code))
		file := &File{image: image{file: view{r: bytes.NewReader(all), size: uint64(len(all))}}}
		file.hdr = &headers{machine: elf.EM_X86_64, sections: []section{
			{name: ".plt", kind: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, addr: addr, size: n, entsize: entsize},
			{name: ".rela.plt", kind: elf.SHT_RELA, flags: elf.SHF_ALLOC, off: n, size: uint64(len(relocs))},
		}}
		file.text = textSpans(file.hdr)
		for a := addr; a-addr < min(n, 256); a++ {
			if s, ok := file.Symbol(a); ok && a-s.Addr >= s.Size {
				t.Fatalf("%#x is %+v", a, s)
			}
		}
	})
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte{5, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}, uint64(1), []byte("\x05\x00\x00common.debug\x00\x02ab"))
	f.Fuzz(func(t *testing.T, index []byte, id uint64, sup []byte) {
		p := &dwarfPackage{index: memView(index)}
		if p.readHeader() {
			if row, ok := p.find(id); ok && row >= p.rows {
				t.Errorf("row %d of %d", row, p.rows)
			}
			f := &File{image: image{hdr: &headers{}}}
			d := newDwarfFile(f, f)
			d.dwp.get(func() *dwarfPackage { return p })
			d.packaged(&unit{d: d, unitRoot: unitRoot{dwoID: id}})
		}
		i := &image{file: memView(sup), hdr: &headers{sections: []section{{name: ".debug_sup", size: uint64(len(sup)), kind: elf.SHT_PROGBITS}}}}
		i.supLink()
		i.hdr.sections[0].name = ".gnu_debugaltlink"
		i.supLink()
	})
}

func FuzzDebugLink(f *testing.F) {
	f.Add([]byte("prog.debug\x00\x00\x01\x02\x03\x04"))
	f.Add([]byte("../../etc/passwd\x00\x00\x00\x00\x01\x02\x03\x04"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if name, _, ok := parseDebugLink(b); ok && (name == "" || name == ".." || strings.ContainsAny(name, "/\x00")) {
			t.Fatalf("leads to %q", name)
		}
	})
}

// FuzzDecompress gives arbitrary bytes to the decompressors, and checks that
// their output stays within its bound.
func FuzzDecompress(f *testing.F) {
	f.Add([]byte("\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00"), uint32(0))
	f.Add(binary.LittleEndian.AppendUint64(nil, 1<<60), uint32(elf.COMPRESS_ZSTD))
	f.Fuzz(func(t *testing.T, b []byte, kind uint32) {
		const limit = 1 << 20
		if out, ok := unxz(b, limit); ok && len(out) > limit {
			t.Fatalf("%d bytes", len(out))
		}
		head := le.AppendUint64(le.AppendUint64(le.AppendUint32(le.AppendUint32(nil, kind), 0), limit/2), 1)
		raw := memView(append(head, b...))
		s := section{flags: elf.SHF_COMPRESSED}
		budget := newBudget(0)
		whole, parts := inflate(&s, raw, budget), inflate(&s, raw, budget)
		if whole == nil {
			return
		}
		all := whole.part(0, limit/2)
		for n := uint64(1); n <= limit/2; n *= 4 {
			if part := parts.part(0, n); all != nil && !bytes.Equal(part, all[:n]) {
				t.Fatalf("the first %d bytes are not those of the whole", n)
			}
		}
		if held := budget.kept.Load(); held > limit {
			t.Fatalf("%d bytes are held", held)
		}
	})
}

// FuzzByName looks up arbitrary names.
func FuzzByName(f *testing.F) {
	for _, n := range []string{"ns::outer", "ns::outer(long)", "operator()", "<T as U>::f", "a<b<c", "_ZN", "x@y@@z", "~", "::", "f@plt", "operator<"} {
		f.Add(n)
	}
	b := tinyELF()
	f.Fuzz(func(t *testing.T, name string) {
		file, err := New(bytes.NewReader(b), int64(len(b)), "tiny", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range file.ByName(name) {
			if utf8.ValidString(name) && name != s.Raw && !strings.HasPrefix(squeeze(s.Name), squeeze(name)) && !strings.Contains(name, "@") {
				t.Fatalf("%q is %+v", name, s)
			}
		}
		demangled(name)
	})
}
