package profile

// Function is an entry of a histogram of functions. Self counts the stacks in which it is innermost,
// Total the stacks in which it is at all. A system call counts as part of the function that makes it.
type Function struct {
	Name   string
	Object string // path of the file that holds the code
	Call   string // the system call, in brackets; empty if there is none, or Name says it
	Self   Values
	Total  Values
}

// Functions returns all functions that are in any stack, in the order of the text output.
func (p *Profile) Functions(o *Options) []Function {
	h := newHistogram()
	p.eachCounted(o, func(_ thread, stack []label, v Values) { h.add(stack, v) })
	labels := h.sorted(&Options{Value: o.Value, OnStack: true})
	list := make([]Function, len(labels))
	for i, l := range labels {
		t := h.tallies[l]
		list[i] = Function{Name: l.name, Object: l.object, Call: l.call, Self: t.self, Total: t.total}
	}
	return list
}

// Resolve looks up all names. After it no file of a target is needed any more.
func (p *Profile) Resolve() { p.finish() }
