package unwind

import "testing"

// FuzzSection looks up functions in arbitrary sections: no input may panic, hang or
// need memory out of proportion.
func FuzzSection(f *testing.F) {
	eh := cfiSection(true, usual, []byte{cfaAdvanceLoc | 1, cfaDefCFAOffset, 16, cfaOffset | 6, 2})
	debug := cfiSection(false, usual, []byte{cfaRememberState, cfaExpression, 3, 1, opLit0, cfaRestoreState})
	f.Add(eh.data, true, uint64(0x1010))
	f.Add(debug.data, false, uint64(0x1010))
	wide := append([]byte{0xff, 0xff, 0xff, 0xff, 20, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 20)...)
	f.Add(wide, false, uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, eh bool, pc uint64) {
		fr := newFrames(section{addr: 0x8000, data: data, eh: eh}, 0, nil, unbounded{})
		fn := fr.function(pc)
		if fn == nil {
			return
		}
		if pc < fn.start || pc >= fn.end || len(fn.rows) > maxRows {
			t.Errorf("function %#x–%#x of %d rows for %#x", fn.start, fn.end, len(fn.rows), pc)
		}
		if r := fn.row(pc); r != nil {
			fn.rules(r)
		}
		for i := 1; i < len(fn.rows); i++ {
			if fn.rows[i-1].start >= fn.rows[i].start {
				t.Errorf("rows not in order: %v", fn.rows)
			}
		}
	})
}

// FuzzSearchTable looks up addresses in arbitrary .eh_frame_hdr sections.
func FuzzSearchTable(f *testing.F) {
	f.Add([]byte{1, encUdata4, encUdata4, encDataRel | encSdata4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, uint64(0x1000))
	f.Fuzz(func(t *testing.T, hdr []byte, pc uint64) {
		fr := newFrames(cfiSection(true, usual, nil), 0x9000, hdr, unbounded{})
		if fn := fr.function(pc); fn != nil && (pc < fn.start || pc >= fn.end) {
			t.Errorf("function %#x–%#x for %#x", fn.start, fn.end, pc)
		}
	})
}

// FuzzProgram compiles arbitrary call frame programs.
func FuzzProgram(f *testing.F) {
	f.Add(usual, []byte{cfaAdvanceLoc | 1, cfaDefCFAOffset, 16})
	f.Add(usual, []byte{cfaRememberState, cfaDefCFAExpression, 1, opLit0, cfaRestoreState})
	f.Fuzz(func(t *testing.T, first, program []byte) {
		d := fde{cie: &cie{codeAlign: 1, dataAlign: -8, ra: 16, program: first}, start: 0x1000, end: 0x2000, program: program}
		fn, err := compile(&d, bases{})
		if err != nil {
			return
		}
		if len(fn.rows) > maxRows || len(fn.saved) > maxRules+columns || len(fn.exprs) > maxExprs {
			t.Errorf("%d rows, %d rules, %d expressions", len(fn.rows), len(fn.saved), len(fn.exprs))
		}
	})
}

// FuzzExpression evaluates arbitrary expressions.
func FuzzExpression(f *testing.F) {
	f.Add([]byte{opBreg0 + 7, 8, opDeref, opPlusUconst, 1})
	f.Add([]byte{opSkip, 0xfd, 0xff})
	f.Fuzz(func(t *testing.T, expr []byte) {
		var e evaluator
		cfa := uint64(0x7000)
		if _, end := e.eval(expr, testMachine{}, 0, &cfa); end == Whole {
			t.Error("an expression is no end")
		}
	})
}
