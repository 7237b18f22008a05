package unwind

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cfiSection builds an .eh_frame or .debug_frame section of one CIE and one FDE for
// the function at 0x1000–0x1100: codeAlign 1, dataAlign -8, return address column 16.
func cfiSection(eh bool, cieProgram, fdeProgram []byte) section {
	body := []byte{1}
	if eh {
		body = append(body, "zR\x00\x01\x78\x10\x01\x00"...) // absolute pointers
	} else {
		body = append(body, "\x00\x01\x78\x10"...)
	}
	cieID := uint32(0xffffffff)
	if eh {
		cieID = 0
	}
	entry := func(id uint32, b []byte) []byte {
		e := binary.LittleEndian.AppendUint32(nil, uint32(4+len(b)))
		return append(binary.LittleEndian.AppendUint32(e, id), b...)
	}
	out := entry(cieID, append(body, cieProgram...))
	id := uint32(0)
	if eh {
		id = uint32(len(out)) + 4
	}
	fdeBody := binary.LittleEndian.AppendUint64(nil, 0x1000)
	fdeBody = binary.LittleEndian.AppendUint64(fdeBody, 0x100)
	if eh {
		fdeBody = append(fdeBody, 0)
	}
	out = append(out, entry(id, append(fdeBody, fdeProgram...))...)
	return section{addr: 0x8000, data: out, eh: eh}
}

// usual is the initial program of every compiler: CFA is rsp+8, the return address
// is at CFA-8.
var usual = []byte{cfaDefCFA, 7, 8, cfaOffset | 16, 1}

// table prints a function's rows the way readelf --debug-dump=frames-interp does.
func table(f *function) string {
	var b strings.Builder
	for i := range f.rows {
		r := &f.rows[i]
		fmt.Fprintf(&b, "%#x cfa=%s", f.start+uint64(r.start), ruleText(f, r.cfa))
		for _, s := range f.rules(r) {
			fmt.Fprintf(&b, " r%d=%s", s.column, ruleText(f, s.rule))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func ruleText(f *function, r rule) string {
	switch r.kind {
	case ruleSame:
		return "same"
	case ruleUndefined:
		return "u"
	case ruleOffset:
		return fmt.Sprintf("c%+d", r.val)
	case ruleValOffset:
		return fmt.Sprintf("v%+d", r.val)
	case ruleRegister:
		return fmt.Sprintf("r%d%+d", r.reg, r.val)
	case ruleExpr:
		return fmt.Sprintf("[%x]", f.exprs[r.val])
	}
	return fmt.Sprintf("(%x)", f.exprs[r.val])
}

func TestProgram(t *testing.T) {
	const first = "0x1000 cfa=r7+8 r16=c-8\n"
	for _, test := range []struct {
		name    string
		program []byte
		want    string // rows; or the start of the error, after "error: "
	}{
		{"empty", nil, first},
		{"nop", []byte{cfaNop, cfaNop}, first},
		{"advance_loc", []byte{cfaAdvanceLoc | 4, cfaDefCFAOffset, 16}, first + "0x1004 cfa=r7+16 r16=c-8\n"},
		{"advance_loc1", []byte{cfaAdvanceLoc1, 0x80, cfaDefCFAOffset, 16}, first + "0x1080 cfa=r7+16 r16=c-8\n"},
		{"advance_loc2", []byte{cfaAdvanceLoc2, 0x20, 0, cfaDefCFAOffset, 16}, first + "0x1020 cfa=r7+16 r16=c-8\n"},
		{"advance_loc4", []byte{cfaAdvanceLoc4, 0x20, 0, 0, 0, cfaDefCFAOffset, 16}, first + "0x1020 cfa=r7+16 r16=c-8\n"},
		{"MIPS_advance_loc8", []byte{cfaMIPSAdvanceLoc8, 0x20, 0, 0, 0, 0, 0, 0, 0, cfaDefCFAOffset, 16}, first + "0x1020 cfa=r7+16 r16=c-8\n"},
		{"set_loc", []byte{cfaSetLoc, 0x40, 0x10, 0, 0, 0, 0, 0, 0, cfaDefCFAOffset, 16}, first + "0x1040 cfa=r7+16 r16=c-8\n"},
		{"set_loc backwards", []byte{cfaSetLoc, 0, 0, 0, 0, 0, 0, 0, 1}, "error: corrupt"},
		{"beyond the end", []byte{cfaAdvanceLoc4, 0, 1, 0, 0, cfaDefCFAOffset, 16}, first},
		{"no change no row", []byte{cfaAdvanceLoc | 4, cfaDefCFAOffset, 8, cfaAdvanceLoc | 4}, first},
		{"offset", []byte{cfaOffset | 6, 2}, "0x1000 cfa=r7+8 r6=c-16 r16=c-8\n"},
		{"offset_extended", []byte{cfaOffsetExtended, 6, 2}, "0x1000 cfa=r7+8 r6=c-16 r16=c-8\n"},
		{"offset_extended_sf", []byte{cfaOffsetExtendedSF, 6, 0x7e}, "0x1000 cfa=r7+8 r6=c+16 r16=c-8\n"},
		{"GNU_negative_offset_extended", []byte{cfaGNUNegOffset, 6, 2}, "0x1000 cfa=r7+8 r6=c+16 r16=c-8\n"},
		{"val_offset", []byte{cfaValOffset, 7, 2}, "0x1000 cfa=r7+8 r7=v-16 r16=c-8\n"},
		{"val_offset_sf", []byte{cfaValOffsetSF, 7, 0x7e}, "0x1000 cfa=r7+8 r7=v+16 r16=c-8\n"},
		{"restore", []byte{cfaOffset | 16, 3, cfaOffset | 3, 2, cfaAdvanceLoc | 1, cfaRestore | 16, cfaRestore | 3},
			"0x1000 cfa=r7+8 r3=c-16 r16=c-24\n0x1001 cfa=r7+8 r16=c-8\n"},
		{"restore_extended", []byte{cfaOffset | 16, 3, cfaAdvanceLoc | 1, cfaRestoreExtended, 16},
			"0x1000 cfa=r7+8 r16=c-24\n0x1001 cfa=r7+8 r16=c-8\n"},
		{"undefined", []byte{cfaUndefined, 16}, "0x1000 cfa=r7+8 r16=u\n"},
		{"same_value", []byte{cfaOffset | 3, 2, cfaAdvanceLoc | 1, cfaSameValue, 3}, "0x1000 cfa=r7+8 r3=c-16 r16=c-8\n0x1001 cfa=r7+8 r16=c-8\n"},
		{"register", []byte{cfaRegister, 16, 3}, "0x1000 cfa=r7+8 r16=r3+0\n"},
		{"register of the vector unit", []byte{cfaRegister, 16, vectorRegister}, "0x1000 cfa=r7+8 r16=u\n"},
		{"vector register saved", []byte{cfaOffset | vectorRegister, 4}, first},
		{"remember and restore", []byte{cfaRememberState, cfaDefCFA, 6, 16, cfaOffset | 6, 2, cfaAdvanceLoc | 1, cfaRestoreState},
			"0x1000 cfa=r6+16 r6=c-16 r16=c-8\n0x1001 cfa=r7+8 r16=c-8\n"},
		{"restore_state of nothing", []byte{cfaRestoreState}, "error: corrupt"},
		{"def_cfa", []byte{cfaDefCFA, 6, 16}, "0x1000 cfa=r6+16 r16=c-8\n"},
		{"def_cfa_sf", []byte{cfaDefCFASF, 6, 0x7e}, "0x1000 cfa=r6+16 r16=c-8\n"},
		{"def_cfa_register", []byte{cfaDefCFARegister, 6}, "0x1000 cfa=r6+8 r16=c-8\n"},
		{"def_cfa_offset_sf", []byte{cfaDefCFAOffsetSF, 0x7e}, "0x1000 cfa=r7+16 r16=c-8\n"},
		{"def_cfa_expression", []byte{cfaDefCFAExpression, 2, opBreg0 + 7, 8}, "0x1000 cfa=(7708) r16=c-8\n"},
		{"def_cfa_offset after an expression", []byte{cfaDefCFAExpression, 2, opBreg0 + 7, 8, cfaDefCFAOffset, 8}, "error: corrupt"},
		{"expression", []byte{cfaExpression, 3, 2, opBreg0 + 7, 8}, "0x1000 cfa=r7+8 r3=[7708] r16=c-8\n"},
		{"val_expression", []byte{cfaValExpression, 3, 2, opBreg0 + 7, 8}, "0x1000 cfa=r7+8 r3=(7708) r16=c-8\n"},
		{"expression cut short", []byte{cfaExpression, 3, 9, opBreg0 + 7, 8}, "error: corrupt"},
		{"GNU_args_size", []byte{cfaGNUArgsSize, 0x90, 1, cfaDefCFAOffset, 16}, "0x1000 cfa=r7+16 r16=c-8\n"},
		{"unknown", []byte{0x3f, 1}, "error: call frame instruction 0x3f"},
		{"cfa of the vector unit", []byte{cfaDefCFA, vectorRegister, 8}, "error: corrupt"},
		{"offset of 5 GiB", []byte{cfaDefCFAOffset, 0x80, 0x80, 0x80, 0x80, 0x14}, "error: corrupt"},
	} {
		for _, eh := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/eh=%t", test.name, eh), func(t *testing.T) {
				got := compiled(cfiSection(eh, usual, test.program))
				if strings.HasPrefix(test.want, "error: ") {
					if !strings.HasPrefix(got, test.want) {
						t.Errorf("got %q, want %q", got, test.want)
					}
				} else if d := cmp.Diff(test.want, got); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// compiled returns the table of the only function of a section, or the error.
func compiled(s section) string {
	e, err := s.entryAt(0)
	if err != nil {
		return "error: " + err.Error()
	}
	f, err := s.fdeAt(e.next, s.cieAt)
	if err != nil {
		return "error: " + err.Error()
	}
	fn, err := compile(&f, s.base)
	if err != nil {
		return "error: " + err.Error()
	}
	return table(fn)
}

func TestCIEProgram(t *testing.T) {
	if got := compiled(cfiSection(true, []byte{cfaAdvanceLoc | 1}, nil)); got != "error: corrupt entry" {
		t.Errorf("advance in a CIE: %q", got)
	}
	if got := compiled(cfiSection(true, nil, nil)); got != "0x1000 cfa=same\n" {
		t.Errorf("no rules at all: %q", got)
	}
}

// TestBounds feeds programs that would make endless tables.
func TestBounds(t *testing.T) {
	var states, exprs []byte
	for range maxRemember + 1 {
		states = append(states, cfaRememberState)
	}
	for range maxExprs + 1 {
		exprs = append(exprs, cfaExpression, 3, 1, opLit0)
	}
	for name, program := range map[string][]byte{"states": states, "expressions": exprs} {
		if got := compiled(cfiSection(true, usual, program)); got != "error: "+errTooBig.Error() {
			t.Errorf("%s: %q", name, got)
		}
	}
	f := fde{cie: &cie{codeAlign: 1, dataAlign: -8, ra: 16, program: usual}, start: 0x1000, end: 0x1000000}
	for i := range maxRows + 1 {
		f.program = append(f.program, cfaAdvanceLoc|1, cfaDefCFAOffset, byte(8+i%2))
	}
	if _, err := compile(&f, bases{}); err != errTooBig {
		t.Errorf("rows: %v", err)
	}
}
