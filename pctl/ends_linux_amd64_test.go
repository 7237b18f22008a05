package pctl

import (
	"debug/elf"
	"slices"
	"testing"

	"ptools/internal/ptest"
)

// TestEndsWithCall: a function without table and symbol that ends with the call of one that never returns has its caller. The
// frame pointer is that of this caller, and leads past it.
func TestEndsWithCall(t *testing.T) {
	flags := []string{"-O2", "-no-pie", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"}
	const src = "../internal/unwind/testdata/ends.c"
	named, err := elf.Open(ptest.BuildC(t, src, flags...)) // its code is the same, and has symbols
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	symbols, err := named.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	g := ptest.Start(t, ptest.BuildC(t, src, append(flags, "-s")...))
	g.Ready()
	p := grab(t, session(t, nil), g.PID, nil)
	want := []string{"last", "ends", "keeps", "calls"}
	for range 100 {
		var funcs []string
		if err := p.Pause(bg, func(s *Snapshot) error {
			frames, err := s.Threads()[0].Calls()
			for _, f := range frames {
				for _, s := range symbols {
					if pc := uint64(f.PC) - 1; elf.ST_TYPE(s.Info) == elf.STT_FUNC && pc >= s.Value && pc < s.Value+s.Size {
						funcs = append(funcs, s.Name)
					}
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if i := slices.Index(funcs, "last"); i >= 0 && (len(funcs) < i+len(want) || !slices.Equal(funcs[i:i+len(want)], want)) {
			t.Fatalf("the callers are %q, want %q", funcs, want)
		}
	}
}
