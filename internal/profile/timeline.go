package profile

import (
	"cmp"
	"slices"
	"time"
)

// A timeline says when a thread was in which stack. It is kept in spans beside the counters, if Timeline is
// set. Counts that are added to a cell without a time are in no span.

// maxSpans bounds the spans of a profile. If there would be more, neighbours are merged, so older times
// become coarser.
const maxSpans = 1 << 18

// span is a time that a thread has spent in one stack, as far as is known.
type span struct {
	cell     Cell
	ran      bool  // it was met on a processor; otherwise its stack says whether it ran
	samples  int32 // of the cell
	from, to time.Duration
}

// AddDuring counts v in a cell, for a span of time since the start. ran says that the thread was met on a processor.
// Otherwise its stack says whether it ran.
func (s *Space) AddDuring(c Cell, v Values, from, to time.Duration, ran bool) {
	s.Add(c, v)
	if !s.profile.Timeline || to <= from {
		return
	}
	for len(s.lastSpans) < len(s.cells) {
		s.lastSpans = append(s.lastSpans, -1)
	}
	if i := s.lastSpans[c]; i >= 0 && s.spans[i].to == from && s.spans[i].ran == ran {
		s.spans[i].to = to
		s.spans[i].samples += int32(v.Samples)
		return
	}
	s.lastSpans[c] = int32(len(s.spans))
	s.spans = append(s.spans, span{c, ran, int32(v.Samples), from, to})
	if s.profile.spanned++; s.profile.spanned > maxSpans {
		s.profile.thin()
	}
}

// thin merges each two neighbouring spans of a thread.
func (p *Profile) thin() {
	p.spanned = 0
	for _, s := range p.spaces {
		s.thin()
		p.spanned += len(s.spans)
	}
}

func (s *counts) thin() {
	s.sortSpans()
	kept := s.spans[:0]
	for i := 0; i < len(s.spans); i++ {
		a := s.spans[i]
		if i+1 < len(s.spans) && s.cells[s.spans[i+1].cell].thread == s.cells[a.cell].thread {
			i++
			b := s.spans[i]
			from, to := a.from, b.to
			switch {
			case a.cell == b.cell:
				a.samples += b.samples
			case b.to-b.from > a.to-a.from:
				a = b
			}
			a.from, a.to = from, to
		}
		kept = append(kept, a)
	}
	s.spans = kept
	for i := range s.lastSpans {
		s.lastSpans[i] = -1
	}
}

// sortSpans sorts the spans by thread and time.
func (s *counts) sortSpans() {
	slices.SortStableFunc(s.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(s.cells[a.cell].thread, s.cells[b.cell].thread), cmp.Compare(a.from, b.from))
	})
	for i := range s.lastSpans {
		s.lastSpans[i] = -1
	}
}

// moveSpans moves the spans of a space to another one, in which its cells have other numbers.
func (s *counts) moveSpans(to *counts, cells []Cell) {
	for _, sp := range s.spans {
		sp.cell = cells[sp.cell]
		to.spans = append(to.spans, sp)
	}
	s.spans = nil
}

// runs reports whether a thread ran, or was ready to. A thread whose innermost level is a system call waits, unless
// it was met on a processor.
func (s *Space) runs(sp *span) bool {
	stack := s.cells[sp.cell].stack
	return sp.ran || stack == 0 || s.callNote(&s.locs[s.nodes[stack].loc]) == ""
}
