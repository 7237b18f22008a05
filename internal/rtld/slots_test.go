package rtld

import (
	"debug/elf"
	"os"
	"slices"
	"testing"
)

func sections(t testing.TB, f *elf.File, names ...string) [][]byte {
	t.Helper()
	var all [][]byte
	for _, name := range names {
		var b []byte
		if s := f.Section(name); s != nil {
			var err error
			if b, err = s.Data(); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, b)
	}
	return all
}

// TestSlots: a program has slots for the imported symbols that debug/elf finds. libc's own calls of its indirect
// functions go through slots that name the resolver.
func TestSlots(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{exe, "/bin/ls", "/lib/x86_64-linux-gnu/libc.so.6"} {
		f, err := elf.Open(path)
		if err != nil {
			t.Logf("%s: %v", path, err)
			continue
		}
		defer f.Close()
		s := sections(t, f, ".rela.plt", ".rela.dyn", ".dynsym", ".dynstr")
		names := map[string]bool{}
		resolvers := map[uint64]bool{}
		for _, rela := range s[:2] {
			for slot := range Slots(rela, s[2], s[3]) {
				names[slot.Name] = true
				resolvers[slot.Resolver] = true
			}
		}
		syms, err := f.DynamicSymbols()
		if err != nil {
			continue // static
		}
		for _, sym := range syms {
			indirect := elf.ST_TYPE(sym.Info) == elf.STT_GNU_IFUNC
			switch {
			case sym.Name == "strlen" && indirect && !resolvers[sym.Value]:
				t.Errorf("%s: no slot for the resolver of strlen at %#x", path, sym.Value)
			case sym.Section == elf.SHN_UNDEF && elf.ST_TYPE(sym.Info) == elf.STT_FUNC &&
				elf.ST_BIND(sym.Info) == elf.STB_GLOBAL && !names[sym.Name]:
				t.Errorf("%s: no slot for %s", path, sym.Name)
			}
		}
	}
}

func FuzzSlots(f *testing.F) {
	rela := make([]byte, 3*relaSize)
	rela[8], rela[12] = byte(elf.R_X86_64_JMP_SLOT), 1
	rela[relaSize+8], rela[relaSize+16] = byte(elf.R_X86_64_IRELATIVE), 16
	rela[2*relaSize+8], rela[2*relaSize+12] = byte(elf.R_X86_64_GLOB_DAT), 9
	sym := make([]byte, 2*symSize)
	sym[symSize] = 1
	f.Add(rela, sym, []byte("\x00memcpy\x00"))
	f.Add(rela, sym, []byte("\x00memcpy"))
	f.Add(rela[:40], sym[:30], []byte{})
	f.Fuzz(func(t *testing.T, rela, dynsym, dynstr []byte) {
		all := slices.Collect(Slots(rela, dynsym, dynstr))
		if len(all) > len(rela)/relaSize {
			t.Errorf("%d slots in %d bytes", len(all), len(rela))
		}
		for _, s := range all {
			if (s.Name == "") == (s.Resolver == 0) {
				t.Errorf("slot %+v", s)
			}
		}
	})
}
