package elfsym

import (
	"slices"

	"ptools/internal/cursor"
)

// Standard and extended opcodes of line programs.
const (
	lnsCopy           = 1
	lnsAdvancePC      = 2
	lnsAdvanceLine    = 3
	lnsSetFile        = 4
	lnsConstAddPC     = 8
	lnsFixedAdvancePC = 9
	lneEndSequence    = 1
	lneSetAddress     = 2
)

// lineState is the part of a line program's state machine that is used.
type lineState struct {
	addr uint64
	file uint64
	line uint64
	from int // first row of the current sequence
}

// run runs the program and fills t with rows.
func (h *lineHeader) run(c *cursor.Cursor, u *unit, t *lineTable) {
	s := lineState{file: 1, line: 1}
	for c.Remaining() > 0 && !c.Bad && len(t.rows) < maxLineRows {
		op := c.U8()
		if op >= h.opcodeBase {
			adjusted := uint64(op - h.opcodeBase)
			s.addr += adjusted / h.lineRange * h.minInst
			s.line += uint64(h.lineBase + int64(adjusted%h.lineRange))
			s.row(t)
			continue
		}
		switch op {
		case 0:
			h.extended(c, u, t, &s)
		case lnsCopy:
			s.row(t)
		case lnsAdvancePC:
			s.addr += c.Uleb() * h.minInst
		case lnsAdvanceLine:
			s.line += uint64(c.Sleb())
		case lnsSetFile:
			s.file = c.Uleb()
		case lnsConstAddPC:
			s.addr += uint64(255-h.opcodeBase) / h.lineRange * h.minInst
		case lnsFixedAdvancePC:
			s.addr += uint64(c.U16())
		default:
			// Flags and columns; the header has the lengths of unknown
			// opcodes.
			for range h.operands[op-1] {
				c.Uleb()
			}
		}
	}
	t.rows = t.rows[:s.from] // a sequence that did not end
}

func (h *lineHeader) extended(c *cursor.Cursor, u *unit, t *lineTable, s *lineState) {
	n := c.Uleb()
	body := cursor.Cursor{B: c.Bytes(n)}
	switch body.U8() {
	case lneEndSequence:
		s.end(u, t)
	case lneSetAddress:
		if size := body.Remaining(); size == 4 || size == 8 {
			s.addr = body.Uint(size)
		}
	}
}

// row adds a row. If the row before has the same address, it is replaced: the
// later row is the position of the code that follows.
func (s *lineState) row(t *lineTable) {
	r := lineRow{s.addr, uint32(s.file), uint32(s.line)}
	if n := len(t.rows); n > s.from && t.rows[n-1].addr == s.addr && !t.every {
		t.rows[n-1] = r
		return
	}
	t.rows = append(t.rows, r)
}

// end ends a sequence and starts the next. Sequences of code that the linker
// has discarded are discarded as well.
func (s *lineState) end(u *unit, t *lineTable) {
	rows := t.rows[s.from:]
	keep := false
	if len(rows) > 0 {
		_, keep = u.d.f.textEnd(rows[0].addr)
		keep = keep && slices.IsSortedFunc(rows, func(a, b lineRow) int {
			if a.addr < b.addr {
				return -1
			}
			return 1
		})
	}
	if keep && s.addr > rows[0].addr {
		t.seqs = append(t.seqs, lineSeq{rows[0].addr, s.addr, s.from, len(t.rows)})
	} else {
		t.rows = t.rows[:s.from]
	}
	*s = lineState{file: 1, line: 1, from: len(t.rows)}
}
