package elfsym

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestGoAgainstRuntime compares every function of the test binary with the
// answers of its own runtime.
func TestGoAgainstRuntime(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, exe, nil)
	g, ok := f.Go()
	if !ok {
		t.Fatal("no pclntab in a Go test")
	}
	bias := runtimeBias(t, f)
	bad, deep := 0, 0
	fail := func(format string, args ...any) {
		if bad++; bad <= 5 {
			t.Errorf(format, args...)
		}
	}
	for i := range g.nfunc {
		entry, end := g.entry(i), g.entry(i+1)
		if len(f.Lines(entry, nil)) == 0 && runtimeLine(entry+bias).File == "" {
			continue // the C functions of the race detector are in the table by name only
		}
		fn, ok := g.Func(entry)
		rf := runtime.FuncForPC(uintptr(entry + bias))
		if !ok || rf == nil || fn.Entry != entry || fn.End != end || uint64(rf.Entry()) != entry+bias {
			fail("function %d at %#x is %+v, the runtime says %v", i, entry, fn, rf)
			continue
		}
		step := max((end-entry)/7, 1)
		for pc := entry; pc+1 < end; pc += step {
			got, want := f.Lines(pc, nil), runtimeLine(pc+bias)
			deep = max(deep, len(got))
			if len(got) == 0 && want.File == "" {
				continue // a mark of the linker
			}
			if len(got) == 0 || got[0].File != want.File || got[0].Line != want.Line || want.Func != "" && withoutTypes(got[0].Func) != want.Func {
				fail("%s+%#x:\n  got  %v\n  want %v", fn.Name, pc-entry, got, want)
			}
		}
		if fn.Flags&(1<<2|GoSPWrite) == 0 && !strings.HasPrefix(fn.Name, "go:") {
			if d, ok := g.SPDelta(entry); !ok || d != 0 {
				fail("%s: stack pointer moved by %d %v at the entry", fn.Name, d, ok)
			}
		}
	}
	if g.nfunc < 1000 || deep < 4 {
		t.Errorf("%d functions, deepest chain %d: not what a test binary has", g.nfunc, deep)
	}
	if bad > 0 {
		t.Errorf("%d wrong answers about %d functions", bad, g.nfunc)
	}
}

// runtimeBias returns how far the test's own binary was moved.
func runtimeBias(t *testing.T, f *File) uint64 {
	const self = "ptools/internal/elfsym.runtimeBias"
	s := f.ByName(self)
	if len(s) != 1 {
		t.Fatalf("%s is %+v", self, s)
	}
	pc, _, _, _ := runtime.Caller(0)
	return uint64(runtime.FuncForPC(pc).Entry()) - s[0].Addr
}

// runtimeLine asks the runtime for the innermost position. The runtime takes
// the argument for a return address, and has no name for some functions.
func runtimeLine(pc uint64) Line {
	fr, _ := runtime.CallersFrames([]uintptr{uintptr(pc) + 1}).Next()
	if fr.File == "?" {
		return Line{Func: fr.Function}
	}
	return Line{Func: fr.Function, File: fr.File, Line: fr.Line}
}

// withoutTypes changes a name as the runtime does before it shows it.
func withoutTypes(name string) string {
	i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if i < 0 || j <= i {
		return name
	}
	return name[:i] + "[...]" + name[j+1:]
}

// goBuild builds the Go program of testdata.
func goBuild(t testing.TB, flags ...string) string {
	argv := append([]string{"go", "build"}, flags...)
	return buildIn(t, "testdata/gohello", argv)
}

// TestGoVariants finds the table in every form of the same program.
func TestGoVariants(t *testing.T) {
	plain := open(t, goBuild(t), nil)
	want := goNames(t, plain)
	checkGoNM(t, plain)
	for _, c := range []struct {
		name  string
		flags []string
		strip bool // takes the section headers away
	}{
		{"stripped", []string{"-ldflags=-s -w"}, false},
		{"pie", []string{"-buildmode=pie"}, false},
		{"stripped-pie", []string{"-buildmode=pie", "-ldflags=-s -w"}, false},
		{"headless", []string{"-ldflags=-s -w"}, true},
		{"headless-pie", []string{"-buildmode=pie", "-ldflags=-s -w"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			bin := goBuild(t, c.flags...)
			if c.strip {
				bin = withoutSections(t, bin)
			}
			f := open(t, bin, nil)
			got := goNames(t, f)
			for name := range want {
				if strings.HasPrefix(name, "main.") && !got[name] {
					t.Errorf("%s is missing", name)
				}
			}
			if len(got) < len(want)*9/10 {
				t.Errorf("%d functions, the plain program has %d", len(got), len(want))
			}
			s := f.ByName("main.outer")
			if len(s) != 1 {
				t.Fatalf("main.outer is %+v", s)
			}
			chains := make(map[string]bool)
			for pc := s[0].Addr; pc < s[0].Addr+s[0].Size; pc++ {
				var names []string
				for _, l := range f.Lines(pc, nil) {
					names = append(names, l.Func+":"+strconv.Itoa(l.Line))
				}
				chains[strings.Join(names, " < ")] = true
			}
			if chain := "main.inner:6 < main.middle:8 < main.outer:11"; !chains[chain] {
				t.Errorf("no address has the chain %s, only %v", chain, chains)
			}
		})
	}
}

// withoutSections returns a copy of a file without its section headers.
func withoutSections(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(b[40:48]) // e_shoff
	clear(b[60:64]) // e_shnum, e_shstrndx
	path = filepath.Join(t.TempDir(), "bare")
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func goNames(t *testing.T, f *File) map[string]bool {
	t.Helper()
	g, ok := f.Go()
	if !ok {
		t.Fatal("no Go table found")
	}
	names := make(map[string]bool)
	for i := range g.nfunc {
		fn, _ := g.Func(g.entry(i))
		names[fn.Name] = true
	}
	return names
}

// checkGoNM compares with `go tool nm`.
func checkGoNM(t *testing.T, f *File) {
	g, _ := f.Go()
	n := 0
	for line := range strings.Lines(output(t, "go", "tool", "nm", "-size", f.Path())) {
		w := strings.Fields(line)
		if len(w) < 4 || !strings.EqualFold(w[2], "t") {
			continue
		}
		addr, _ := strconv.ParseUint(w[0], 16, 64)
		size, _ := strconv.ParseUint(w[1], 10, 64)
		name := strings.TrimSuffix(w[3], ".abi0")
		name = strings.ReplaceAll(name, "untracedG.", "untracedG·")
		fn, ok := g.Func(addr)
		if !ok || size == 0 || fn.Entry != addr {
			continue // a mark of the linker
		}
		n++
		if s, ok := f.Symbol(addr + size - 1); !ok || s.Addr != addr || s.Name != name || s.Kind != Go {
			// The linker folds the names of instances of generic functions.
			if !strings.ContainsAny(name, "[,") {
				t.Errorf("%#x is %+v, go tool nm says %s", addr, s, name)
			}
		}
	}
	if n < 1000 {
		t.Errorf("go tool nm shows only %d functions", n)
	}
}

// TestGoExternal has C code before and after the Go code.
func TestGoExternal(t *testing.T) {
	bin := goBuild(t, "-ldflags=-linkmode=external")
	f := open(t, bin, nil)
	g, ok := f.Go()
	if !ok {
		t.Fatal("no Go table found")
	}
	text := f.ByName("runtime.text")
	if len(text) == 0 || g.text != text[0].Addr {
		t.Errorf("text starts at %#x, not %+v", g.text, text)
	}
	if s, ok := f.Symbol(f.Entry()); !ok || s.Name != "_start" {
		t.Errorf("the entry is %+v, not _start", s)
	}
	if s := f.ByName("main.outer"); len(s) != 1 || len(f.Lines(s[0].Addr+8, nil)) == 0 {
		t.Errorf("main.outer is %+v", s)
	}
}

// layout makes a pclntab with one function of 64 bytes.
func layout(magic uint32, entry uint64) []byte {
	put := func(b []byte, v ...uint32) []byte {
		for _, x := range v {
			b = le.AppendUint32(b, x)
		}
		return b
	}
	header := func(words ...uint64) []byte {
		b := append(le.AppendUint32(nil, magic), 0, 0, 1, 8)
		for _, w := range words {
			b = le.AppendUint64(b, w)
		}
		return b
	}
	pad := func(b []byte, n int) []byte { return append(b, make([]byte, n-len(b))...) }
	pcsp := []byte{2, 4, 16, 60, 0}  // 0 for 4 bytes, then 8
	pcln := []byte{20, 64, 0}        // line 9
	pcfile := []byte{4, 64, 0}       // file 1, or 0 if counted from there
	pcs := slices.Concat(pcsp, pcln) // at 0 and len(pcsp)
	switch goMagics[magic] {
	case go12:
		// All offsets are from the start of the table.
		b := header(1)
		b = le.AppendUint64(b, entry)
		b = le.AppendUint64(b, 64)
		b = le.AppendUint64(b, entry+64)
		b = put(b, 200) // file table
		b = pad(b, 64)
		b = le.AppendUint64(b, entry)
		b = put(b, 160, 24, 0, 180, 180+uint32(len(pcs)), 180+uint32(len(pcsp)), 0, 0)
		b = append(pad(b, 160), "main.old\x00"...)
		b = append(pad(b, 180), slices.Concat(pcs, pcfile)...)
		b = put(pad(b, 200), 2, 220)
		return append(pad(b, 220), "/old.go\x00"...)
	case go118, go120:
		// With a call inlined in the second half, to which the function
		// data at 240 (64-byte header, so 256 is aligned) belong.
		b := header(1, 1, entry, 100, 120, 130, 140, 160)
		b = append(pad(b, 101), "main.old\x00main.in\x00"...)
		b = put(pad(b, 120), 0, 0)
		b = append(pad(b, 130), "/old.go\x00"...)
		index := []byte{0, 32, 2, 32, 0} // -1, then 0
		b = append(pad(b, 141), slices.Concat(pcs, []byte{2, 64, 0}, index)...)
		b = put(pad(b, 160), 0, 16, 64)
		b = put(pad(b, 176), 0, 1, 24, 0, 1, 1+uint32(len(pcs)), 1+uint32(len(pcsp)), 3, 0)
		if goMagics[magic] == go120 {
			b = put(b, 5)
		}
		b = put(b, 4<<24|0x0107, 0, 0, 4+uint32(len(pcs)), noFuncdata, noFuncdata, noFuncdata, 0)
		b = pad(b, 256)
		if goMagics[magic] == go120 {
			return put(b, 0, 10, 4, 0)
		}
		return put(b, 0, 0, 0, 10, 4)
	default:
		b := header(1, 1, 100, 120, 130, 140, 160)
		b = append(pad(b, 101), "main.old\x00"...)
		b = put(pad(b, 120), 0, 0)
		b = append(pad(b, 130), "/old.go\x00"...)
		b = append(pad(b, 141), slices.Concat(pcs, []byte{2, 64, 0})...)
		b = pad(b, 160)
		b = le.AppendUint64(b, entry)
		b = le.AppendUint64(b, 24)
		b = le.AppendUint64(b, entry+64)
		b = le.AppendUint64(b, entry)
		return put(b, 1, 24, 0, 1, 1+uint32(len(pcs)), 1+uint32(len(pcsp)), 0, 0, 0x0107)
	}
}

// goTableFile is a file of nothing but a table, at address 0x5000, for code from
// 0x1000 on.
func goTableFile(table []byte) *File {
	return &File{image: image{
		hdr:      &headers{},
		text:     []span{{0x1000, 0x100000}},
		file:     view{r: bytes.NewReader(table), size: uint64(len(table))},
		segments: []Segment{{Vaddr: 0x5000, Filesz: uint64(len(table))}},
	}}
}

// TestGoLayouts reads tables as all releases since Go 1.2 lay them out.
func TestGoLayouts(t *testing.T) {
	for magic, version := range goMagics {
		f := goTableFile(layout(magic, 0x1000))
		g := openGoTable(f, f.file, 0x5000)
		if g == nil {
			t.Fatalf("%#x: not taken for a table", magic)
		}
		g.module.get(func() goModule { return goModule{text: 0x1000, gofunc: 0x5000 + 256} })
		fn, ok := g.Func(0x1010)
		if !ok || fn.Name != "main.old" || fn.Entry != 0x1000 || fn.End != 0x1040 {
			t.Errorf("%#x: %+v %v", magic, fn, ok)
		}
		for pc, want := range map[uint64]int32{0x1000: 0, 0x1003: 0, 0x1004: 8, 0x103f: 8} {
			if d, ok := g.SPDelta(pc); !ok || d != want {
				t.Errorf("%#x: stack pointer moved by %d %v at %#x, not %d", magic, d, ok, pc, want)
			}
		}
		whole := Line{Func: "main.old", Raw: "main.old", File: "/old.go", Line: 9}
		if l := g.lines(0x1010, nil); !slices.Equal(l, []Line{whole}) {
			t.Errorf("%#x: %+v", magic, l)
		}
		want := []Line{whole}
		if version >= go118 {
			want = []Line{{Func: "main.in", Raw: "main.in", File: "/old.go", Line: 9, Inlined: true}, whole}
		}
		if l := g.lines(0x1030, nil); !slices.Equal(l, want) {
			t.Errorf("%#x: %+v, not %+v", magic, l, want)
		}
		if s := g.byName("main.old"); len(s) != 1 || s[0].Addr != 0x1000 {
			t.Errorf("%#x: main.old is %+v", magic, s)
		}
	}
}

// wrapperNames matches the names that Go's compiler has had for its own functions since Go 1.22, and what the runtime counts among them.
var wrapperNames = regexp.MustCompile(`\.(gowrap|deferwrap)\d+$|-fm$|^type:\.(eq|hash)\.|^runtime\.(deferreturn|call\d+)$|^debugCall\d+$|^reflect\.(makeFuncStub|methodValueCall|callMethod)$`)

// TestGoWrappers: the functions that Go's compiler has made are known by their FuncID, which earlier versions of Go have, too. It
// also makes functions that bring a dictionary to a generic one.
func TestGoWrappers(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, exe, nil)
	g, _ := f.Go()
	wrappers := 0
	for i := range g.nfunc {
		lines := f.Lines(g.entry(i), nil)
		if len(lines) == 0 {
			continue
		}
		outer := lines[len(lines)-1]
		if made := wrapperNames.MatchString(outer.Func) || outer.File == autogenerated; made != outer.Wrapper && !strings.Contains(outer.Func, "[") {
			t.Errorf("%s of %s: wrapper %v", outer.Func, outer.File, outer.Wrapper)
		}
		if outer.Wrapper {
			wrappers++
		}
	}
	if wrappers < 20 {
		t.Errorf("%d wrappers", wrappers)
	}
}
