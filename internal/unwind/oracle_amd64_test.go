package unwind

import (
	"debug/elf"
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/frame"

	"ptools/internal/ptest"
)

// oracleFiles are executables and libraries of the system with much call frame
// information, by several compilers and by hand.
func oracleFiles(t *testing.T) []string {
	var files []string
	for _, pattern := range []string{
		"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.*",
	} {
		m, _ := filepath.Glob(pattern)
		files = append(files, m...)
	}
	for _, name := range []string{"gdb", "python3", "bash", "node"} {
		p, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if f, err := elf.Open(p); err == nil { // not a script
			f.Close()
			files = append(files, p)
		}
	}
	if len(files) < 2 {
		t.Fatalf("only %v of the usual files here", files)
	}
	return files
}

// TestOracle compares the rules of every function of real files with those of
// Delve's frame package, at the first and the last instruction of each row.
func TestOracle(t *testing.T) {
	for _, path := range oracleFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			compareWithDelve(t, path)
		})
	}
}

func compareWithDelve(t *testing.T, path string) {
	o := openObject(t, path)
	table := newTable(o)
	addr, data, ok := o.Section(".eh_frame")
	if !ok {
		t.Fatal("no .eh_frame")
	}
	fdes, err := frame.Parse(data, binary.LittleEndian, 0, 8, addr)
	if err != nil {
		t.Fatal(err)
	}
	step := 1 + len(fdes)/ptest.Rounds(2000, 20_000, len(fdes)+1)
	places, errors := 0, 0
	for i := 0; i < len(fdes); i += step {
		fde := fdes[i]
		fn := table.contents().frames().function(fde.Begin())
		if fn == nil {
			if fde.End() > fde.Begin() {
				t.Errorf("%#x: no function", fde.Begin())
				errors++
			}
			continue
		}
		if fn.start != fde.Begin() || fn.end != fde.End() {
			t.Errorf("function %#x–%#x, want %#x–%#x", fn.start, fn.end, fde.Begin(), fde.End())
			errors++
		}
		for i, r := range fn.rows {
			last := fn.end - 1
			if i+1 < len(fn.rows) {
				last = fn.start + uint64(fn.rows[i+1].start) - 1
			}
			for _, pc := range []uint64{fn.start + uint64(r.start), last} {
				places++
				if !sameRules(t, fn, fde, pc) {
					errors++
				}
			}
		}
		if errors > 10 {
			t.Fatal("too many differences")
		}
	}
	t.Logf("%d functions, %d places", len(fdes), places)
	if len(fdes) == 0 {
		t.Error("nothing compared")
	}
}

// sameRules compares one place.
func sameRules(t *testing.T, fn *function, fde *frame.FrameDescriptionEntry, pc uint64) bool {
	want, err := fde.EstablishFrame(pc)
	if err != nil {
		t.Errorf("%#x: %v", pc, err)
		return false
	}
	r := fn.row(pc)
	ok := sameRule(r.cfa, fn, want.CFA)
	got := map[uint64]rule{}
	for _, s := range fn.rules(r) {
		got[uint64(s.column)] = s.rule
	}
	for reg := range uint64(columns) {
		w, has := want.Regs[reg]
		if !has {
			w.Rule = frame.RuleSameVal
		} else if w.Rule == frame.RuleUndefined && reg != regPC {
			continue // or restored: Delve forgets the CIE's own rules
		}
		ok = sameRule(got[reg], fn, w) && ok
	}
	if !ok {
		t.Errorf("%#x in %#x–%#x: cfa %+v and %+v, want %+v and %+v", pc, fn.start, fn.end, r.cfa, got, want.CFA, want.Regs)
	}
	return ok
}

func sameRule(g rule, fn *function, w frame.DWRule) bool {
	switch w.Rule {
	case frame.RuleUndefined:
		return g.kind == ruleUndefined
	case frame.RuleSameVal:
		return g.kind == ruleSame
	case frame.RuleOffset:
		return g.kind == ruleOffset && int64(g.val) == w.Offset
	case frame.RuleValOffset:
		return g.kind == ruleValOffset && int64(g.val) == w.Offset
	case frame.RuleRegister:
		return g.kind == ruleRegister && uint64(g.reg) == w.Reg
	case frame.RuleCFA:
		return g.kind == ruleRegister && uint64(g.reg) == w.Reg && int64(g.val) == w.Offset
	case frame.RuleExpression:
		// Delve gives a CFA expression this kind too.
		return (g.kind == ruleExpr || g.kind == ruleValExpr) && string(fn.exprs[g.val]) == string(w.Expression)
	case frame.RuleValExpression:
		return g.kind == ruleValExpr && string(fn.exprs[g.val]) == string(w.Expression)
	}
	return false
}
