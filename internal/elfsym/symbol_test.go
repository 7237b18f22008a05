package elfsym

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// nmSymbol is a function as nm prints it.
type nmSymbol struct {
	addr, size uint64
	name       string
}

// nmFunctions asks binutils for the functions of a file.
func nmFunctions(t *testing.T, args ...string) []nmSymbol {
	t.Helper()
	var all []nmSymbol
	for line := range strings.Lines(output(t, append([]string{"nm", "-S", "--defined-only"}, args...)...)) {
		f := strings.Fields(line)
		if len(f) == 3 {
			f = slices.Insert(f, 1, "0") // no size
		}
		if len(f) != 4 || !strings.Contains("tTwWi", f[2]) {
			continue
		}
		addr, _ := strconv.ParseUint(f[0], 16, 64)
		size, _ := strconv.ParseUint(f[1], 16, 64)
		name, _, _ := strings.Cut(f[3], "@")
		all = append(all, nmSymbol{addr, size, name})
	}
	return all
}

// TestSymbolsAgainstNM looks up every function of real files at its first, its
// middle and its last byte.
func TestSymbolsAgainstNM(t *testing.T) {
	for _, c := range []struct{ name, path, flag string }{
		{"own", inlineProgram(t), ""},
		{"libc", "/lib/x86_64-linux-gnu/libc.so.6", "-D"},
		{"ld.so", "/lib64/ld-linux-x86-64.so.2", "-D"},
		{"libstdc++", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "-D"},
		{"gdb", "/usr/bin/gdb", "-D"},
		{"node", "/usr/bin/node", ""},
		{"python3", "/usr/bin/python3", "-D"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{installed(t, c.path)}
			if c.flag != "" {
				args = append(args, c.flag)
			}
			checkSymbols(t, open(t, c.path, nil), nmFunctions(t, args...))
		})
	}
}

func checkSymbols(t *testing.T, f *File, all []nmSymbol) {
	names := make(map[uint64][]string)
	var text []nmSymbol
	for _, s := range all {
		if _, ok := f.textEnd(s.addr); ok {
			text = append(text, s)
			names[s.addr] = append(names[s.addr], s.name)
		}
	}
	if len(text) < 10 {
		t.Fatalf("nm shows only %d functions", len(text))
	}
	bad := 0
	fail := func(format string, args ...any) {
		if bad++; bad <= 5 {
			t.Errorf(format, args...)
		}
	}
	step := 1 + len(text)/ptest.Rounds(20_000, 20_000, len(text)+1)
	for i := rand.IntN(step); i < len(text); i += step {
		s := text[i]
		got, ok := f.Symbol(s.addr)
		if !ok && slices.ContainsFunc(f.ByName(s.name), func(g Sym) bool { return g.Kind == Object }) {
			continue // constants among the code
		}
		if ok && s.size == 0 && got.Addr < s.addr && s.addr-got.Addr < got.Size {
			continue // a label inside a function
		}
		if !ok || got.Addr != s.addr || !slices.Contains(names[s.addr], got.Raw) {
			fail("%#x is %+v %v, not %v", s.addr, got, ok, names[s.addr])
		}
		for _, pc := range []uint64{s.addr + s.size/2, s.addr + s.size - min(s.size, 1)} {
			// Functions may overlap: the answer must cover the address and
			// begin no earlier.
			if got, ok := f.Symbol(pc); !ok || got.Addr < s.addr && s.size > 0 || got.Addr > pc || pc-got.Addr >= got.Size {
				fail("%#x in %s is %+v %v", pc, s.name, got, ok)
			}
		}
	}
	for i := 0; i < len(text); i += len(text)/50 + 1 {
		s := text[i]
		if !slices.ContainsFunc(f.ByName(s.name), func(g Sym) bool { return g.Addr == s.addr }) {
			fail("%s is %+v, not %#x", s.name, f.ByName(s.name), s.addr)
		}
	}
	if bad > 0 {
		t.Errorf("%d wrong answers about %d functions", bad, len(text))
	}
}

// TestAliases checks the choice among names of one address.
func TestAliases(t *testing.T) {
	f := open(t, inlineProgram(t), nil)
	for _, name := range []string{"plain", "__plain", "alias_of_plain"} {
		syms := f.ByName(name)
		if len(syms) != 1 || syms[0].Name != name || syms[0].Kind != Func {
			t.Errorf("ByName(%s) = %+v", name, syms)
			continue
		}
		if s, ok := f.Symbol(syms[0].Addr + 1); !ok || s.Name != "plain" {
			t.Errorf("the address of %s is %+v, not plain", name, s)
		}
	}
}

// TestVersions uses glibc's memcpy, of which there are two.
func TestVersions(t *testing.T) {
	f := open(t, installed(t, "/lib/x86_64-linux-gnu/libc.so.6"), nil)
	all := f.ByName("memcpy")
	fresh, old := f.ByName("memcpy@@GLIBC_2.14"), f.ByName("memcpy@GLIBC_2.2.5")
	if len(all) != 2 || len(fresh) != 1 || len(old) != 1 {
		t.Fatalf("memcpy %+v, @@GLIBC_2.14 %+v, @GLIBC_2.2.5 %+v", all, fresh, old)
	}
	if all[0] != fresh[0] || all[1] != old[0] {
		t.Errorf("memcpy is %+v, the default version is not first", all)
	}
	if fresh[0].Kind != IFunc || fresh[0].Name != "memcpy" || old[0].Name != "memcpy@GLIBC_2.2.5" || old[0].Raw != "memcpy" {
		t.Errorf("fresh %+v, old %+v", fresh[0], old[0])
	}
	if got := f.ByName("memcpy@GLIBC_9.9"); got != nil {
		t.Errorf("a version that is not there: %+v", got)
	}
	for _, s := range all {
		if got, ok := f.Symbol(s.Addr); !ok || got.Addr != s.Addr {
			t.Errorf("%+v is at the address of %+v", got, s)
		}
	}
	if s := f.ByName("environ"); len(s) != 1 || s[0].Kind != Object {
		t.Errorf("environ is %+v", s)
	}
}

// TestSizeless has assembler code without types and sizes.
func TestSizeless(t *testing.T) {
	f := open(t, build(t, "gcc", "-nostdlib", "-static", "testdata/sizeless.s"), nil)
	want := map[string]string{"first": "first", "second": "second", "inner": "whole", "elsewhere": "elsewhere"}
	for name, covers := range want {
		s := f.ByName(name)
		if len(s) != 1 {
			t.Errorf("ByName(%s) = %+v", name, s)
			continue
		}
		if got, ok := f.Symbol(s[0].Addr + 1); !ok || got.Name != covers {
			t.Errorf("%s+1 is in %+v, not %s", name, got, covers)
		}
	}
	first, _ := f.Symbol(f.ByName("first")[0].Addr)
	if second := f.ByName("second")[0]; first.Addr+first.Size != second.Addr {
		t.Errorf("first %+v does not reach to second %+v", first, second)
	}
	last := f.ByName("second")[0].Addr
	if _, ok := f.Symbol(last + 4096); ok {
		t.Error("a symbol without a size reaches beyond its section")
	}
}
