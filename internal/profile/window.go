package profile

import (
	"cmp"
	"slices"

	"ptools/internal/intern"
)

// Window returns what has been added to a profile since the previous look.
type Window struct{ *Mark }

// Interval is what was added between two looks.
type Interval struct {
	Functions []Function
	Threads   []ThreadValues // threads that counted anything, by number
	Processes []ThreadValues // in a tree: processes that counted anything, by number, without TID
	Total     Values
}

// ThreadValues is what one thread counted, and where it counted most.
type ThreadValues struct {
	PID, TID int
	Name     string
	Values   Values
	Function string // innermost function of the stack with the most processor time, or else wall time
	most     Values
}

// Window begins a Window: the first Next counts from now on.
func (p *Profile) Window() *Window { return &Window{p.Mark()} }

// Next returns what was added since its last call. It resolves the stacks that were met. With nil options it counts
// nothing.
func (w *Window) Next(o *Options) *Interval {
	in := &Interval{}
	h := newHistogram()
	threads, processes := make(map[ThreadID]*ThreadValues), make(map[ProcessID]*ThreadValues)
	var stack []label
	for _, s := range w.p.spaces {
		before := w.before[s]
		for i := range s.cells {
			c := &s.cells[i]
			if i == len(before) {
				before = append(before, Values{})
			}
			v := c.Values
			v.sub(before[i])
			before[i] = c.Values
			if v == (Values{}) || o == nil {
				continue
			}
			s.ResolveAll()
			stack = s.merged(c.stack, o, stack[:0])
			h.add(stack, v)
			in.Total.add(v)
			of := w.p.threads[c.thread]
			meet(threads, c.thread, ThreadValues{PID: of.pid, TID: of.tid, Name: of.name}, stack, v)
			if of.process != 0 {
				meet(processes, of.process, ThreadValues{PID: of.pid, Name: w.p.processes[of.process-1].Command}, stack, v)
			}
		}
		w.before[s] = before
	}
	for l, t := range h.tallies {
		in.Functions = append(in.Functions, Function{Name: l.name, Object: l.object, Call: l.call, Self: t.self, Total: t.total})
	}
	in.Threads, in.Processes = byNumber(threads), byNumber(processes)
	return in
}

func byNumber[ID comparable](of map[ID]*ThreadValues) []ThreadValues {
	var list []ThreadValues
	for _, t := range of {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b ThreadValues) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID)) })
	return list
}

// meet adds the counts of a thread or process in a stack. fresh is its entry if it has none yet.
func meet[ID comparable](all map[ID]*ThreadValues, id ID, fresh ThreadValues, stack []label, v Values) {
	t := intern.Value(all, id, func() *ThreadValues { return &fresh })
	t.Values.add(v)
	if len(stack) > 0 && cmp.Or(cmp.Compare(v.CPU, t.most.CPU), cmp.Compare(v.Wall, t.most.Wall)) > 0 {
		t.most, t.Function = v, stack[0].String()
	}
}
