package goroutines

// An Ancestor is a goroutine from which another one descends, as it was when it made the next one in the line.
type Ancestor struct {
	ID      uint64
	Creator uint64   // program counter behind the go statement that made it
	Calls   []uint64 // program counters of its stack, innermost first: behind each call
	Cut     bool     // the stack was deeper than the runtime records
}

// A Line is the ancestors of goroutines, the creator first. The runtime keeps them if the program runs with
// GODEBUG=tracebackancestors=N. Goroutines with the same ones share it.
type Line struct {
	Ancestors []Ancestor
	Cut       bool // there are more, which could not be read or are too many
}

// Bounds of what is read of one goroutine, and in all.
const (
	maxAncestors = 256
	maxCalls     = 128 // the runtime records 50, and 100 before Go 1.21
)

// sizes of the runtime's ancestorInfo, and of a slice.
const (
	ancestorSize = 40
	sliceSize    = 24
)

// calls is how many calls of each ancestor the runtime records.
func (l *layout) calls() int {
	if l.g.parent == 0 {
		return 100
	}
	return 50
}

// ancestors reads lines of ancestors: slices of records with slices of program counters. The runtime never changes them.
func (r *Reader) ancestors(slices []wish) {
	if len(slices) == 0 {
		return
	}
	r.grant(slices)
	var records, calls []wish
	for _, w := range slices {
		w.of.line.Cut = true
		if len(w.b) < sliceSize {
			continue
		}
		n := le.Uint64(w.b[8:])
		size := ancestorSize * min(n, maxAncestors)
		if n == 0 || !take(&r.left.ancestors, int(size)) {
			continue
		}
		w.of.line.Cut = n > maxAncestors
		records = append(records, wish{of: w.of, addr: le.Uint64(w.b), size: size})
	}
	r.grant(records)
	for _, w := range records {
		line := &w.of.line
		line.Cut = line.Cut || uint64(len(w.b)) < w.size
		for ; len(w.b) >= ancestorSize; w.b = w.b[ancestorSize:] {
			n := min(le.Uint64(w.b[8:]), maxCalls)
			if !take(&r.left.ancestors, int(8*n)) {
				line.Cut = true
				break
			}
			line.Ancestors = append(line.Ancestors, Ancestor{ID: le.Uint64(w.b[24:]), Creator: le.Uint64(w.b[32:]), Cut: n >= uint64(r.r.layout.calls())})
			calls = append(calls, wish{of: w.of, addr: le.Uint64(w.b), size: 8 * n})
		}
	}
	r.grant(calls)
	var last *reading
	for i, n := 0, 0; i < len(calls); i, n = i+1, n+1 { // in the order of the ancestors
		w := &calls[i]
		if w.of != last {
			last, n = w.of, 0
		}
		of := &w.of.line.Ancestors[n]
		of.Cut = of.Cut || uint64(len(w.b)) < w.size
		for ; len(w.b) >= 8; w.b = w.b[8:] {
			of.Calls = append(of.Calls, le.Uint64(w.b))
		}
	}
}

// sharedLine returns the one Line with these ancestors, nil if there are none.
func (r *Reader) sharedLine(l *Line) *Line {
	if len(l.Ancestors) == 0 && !l.Cut {
		return nil
	}
	r.key = r.key[:0]
	for i := range l.Ancestors {
		a := &l.Ancestors[i]
		r.key = le.AppendUint64(le.AppendUint64(le.AppendUint64(r.key, a.ID), a.Creator), uint64(len(a.Calls)))
		for _, pc := range a.Calls {
			r.key = le.AppendUint64(r.key, pc)
		}
	}
	if known := r.lines[string(r.key)]; known != nil && known.Cut == l.Cut {
		return known
	}
	if !take(&r.left.details, 2*len(r.key)) {
		return &Line{Cut: true}
	}
	own := *l
	r.lines[string(r.key)] = &own
	return &own
}
