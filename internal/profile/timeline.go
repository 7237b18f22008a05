package profile

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// A timeline says when a thread was in which stack. It is kept in spans beside the counters, if Timeline is
// set. Counts that are added to a cell without a time are in no span.

// maxSpans bounds the spans of a profile. If there would be more, neighbours are merged, so older times
// become coarser.
const maxSpans = 1 << 18

// state is what a thread did in a span.
type state uint8

const (
	byStack state = iota // its stack says whether it ran
	onCPU                // it was met on a processor
	ready                // it waited for a processor
)

// span is a time that a thread has spent in one stack, as far as is known. If the time is 0, the thread was met there
// at that moment.
type span struct {
	cell     Cell
	state    state
	samples  int32 // of the cell
	from, to time.Duration
}

// AddDuring counts v in a cell, for a span of time since the start. ran says that the thread was met on a processor, for
// which it has waited before. Otherwise its stack says whether it ran, and it waited for a processor in the end.
func (s *Space) AddDuring(c Cell, v Values, from, to time.Duration, ran bool) {
	s.Add(c, v)
	if !s.profile.Timeline || to <= from {
		return
	}
	waited := min(time.Duration(v.Ready), to-from)
	if ran {
		s.extend(span{c, ready, 0, from, from + waited})
		s.extend(span{c, onCPU, int32(v.Samples), from + waited, to})
		return
	}
	s.extend(span{c, byStack, int32(v.Samples), from, to - waited})
	s.extend(span{c, ready, 0, to - waited, to})
}

// extend adds a span, or makes the last one of its cell longer.
func (s *Space) extend(sp span) {
	if sp.to <= sp.from {
		return
	}
	if i := s.lastSpan(sp.cell); i >= 0 && s.spans[i].to == sp.from && s.spans[i].state == sp.state {
		s.spans[i].to = sp.to
		s.spans[i].samples += sp.samples
		return
	}
	addSpan(s, sp)
}

// lateSpan is how long the spans of a cell may be behind its times. On a machine that is too busy for rounds there are no spans.
const lateSpan = 100 * time.Millisecond

// AddAt counts v in a cell, for a thread that was met there on a processor. at is the time since the start. It is a
// time of the cell if no span of it is known at about that time.
func (s *Space) AddAt(c Cell, v Values, at time.Duration) {
	s.Add(c, v)
	if !s.profile.Timeline {
		return
	}
	if i := s.lastSpan(c); i < 0 || at-s.spans[i].to > lateSpan {
		addSpan(s, span{c, onCPU, 0, at, at})
	}
}

// lastSpan returns the number of the last span of a cell, -1 if there is none.
func (s *counts) lastSpan(c Cell) int32 {
	for len(s.lastSpans) < len(s.cells) {
		s.lastSpans = append(s.lastSpans, -1)
	}
	return s.lastSpans[c]
}

func addSpan(s *Space, sp span) {
	s.lastSpans[sp.cell] = int32(len(s.spans))
	s.spans = append(s.spans, sp)
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
			case a.cell == b.cell && a.state == b.state:
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

// runs reports whether a thread ran. A thread whose innermost level is a system call waits, unless it was met on a
// processor.
func (s *Space) runs(sp *span) bool {
	stack := s.cells[sp.cell].stack
	return sp.state == onCPU || sp.state == byStack && (stack == 0 || s.callNote(&s.locs[s.nodes[stack].loc]) == "")
}

// times returns the spans of each cell in which it may have counted a value: processor time while it was not ready, and
// ready time while it was, if there are such spans.
func (s *counts) times(v Value) map[cellKey][]span {
	times, others := make(map[cellKey][]span), make(map[cellKey][]span)
	for _, sp := range s.spans {
		k, to := s.cells[sp.cell].cellKey, times
		if v == CPU && sp.state == ready || v == Ready && sp.state != ready {
			to = others
		}
		to[k] = append(to[k], sp)
	}
	for k, spans := range others {
		if times[k] == nil {
			times[k] = spans
		}
	}
	return times
}

// divided divides n among the times at which spans begin, in proportion to their length. A part of 0 is left out. The
// time is 0 if none is known.
func divided(n int64, times []span) iter.Seq2[time.Duration, int64] {
	return func(yield func(time.Duration, int64) bool) {
		var all, until time.Duration
		for _, sp := range times {
			all += sp.to - sp.from
		}
		if all == 0 {
			at := time.Duration(0)
			if len(times) > 0 {
				at = times[0].from
			}
			yield(at, n)
			return
		}
		given := int64(0)
		for _, sp := range times {
			until += sp.to - sp.from
			share := int64(float64(n)*(float64(until)/float64(all))) - given
			if until == all {
				share = n - given
			}
			given += share
			if share != 0 && !yield(sp.from, share) {
				return
			}
		}
	}
}
