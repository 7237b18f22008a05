package unwind

import "sort"

// A ruleKind says how a register of the caller, or the CFA, is computed.
type ruleKind uint8

const (
	ruleSame      ruleKind = iota // still in the register; for the stack pointer: the CFA
	ruleUndefined                 // lost; for the return address: there is no caller
	ruleOffset                    // in memory at CFA+val
	ruleValOffset                 // CFA+val itself
	ruleRegister                  // in register reg; as CFA rule: reg+val
	ruleExpr                      // in memory at the value of expression val
	ruleValExpr                   // the value of expression val itself
)

// A rule computes one value. val is an offset, or an index of function.exprs.
type rule struct {
	kind ruleKind
	reg  uint8
	val  int32
}

// A saved is the rule of one column.
type saved struct {
	column uint8
	rule
}

// A row holds from start (an offset into the function) to the next row. Its rules
// are function.saved[first:first+count]; columns without a rule are ruleSame.
type row struct {
	start uint32
	first uint16
	count uint8
	cfa   rule
}

// A function is the compiled CFI of one FDE. It is immutable.
type function struct {
	start, end uint64 // link-time addresses
	signal     bool   // frame of a signal trampoline
	rows       []row
	saved      []saved
	exprs      [][]byte // parts of the section
}

// row returns the row that holds at pc, or nil if pc is not in the function.
func (f *function) row(pc uint64) *row {
	if pc < f.start || pc >= f.end {
		return nil
	}
	off := uint32(pc - f.start)
	i := sort.Search(len(f.rows), func(i int) bool { return f.rows[i].start > off })
	if i == 0 {
		return nil
	}
	return &f.rows[i-1]
}

// rules returns the rules of a row of f.
func (f *function) rules(r *row) []saved { return f.saved[r.first : int(r.first)+int(r.count)] }
