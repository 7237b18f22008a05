package pctl

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ptools/internal/clean"
)

// Trace is Stack without the internal functions of Go's runtime and without wrappers, as Go's own traces have it. If it has no others, as
// that of a goroutine that has not begun, it has all of them.
func (g *Goroutine) Trace() []Frame {
	frames, _ := g.Stack() // what is known of it
	var shown []Frame
	callee := ""
	for i := range frames {
		f := &frames[i]
		if tracesShow(f) || f.Wrapper && panics(callee) {
			shown = append(shown, *f)
		}
		callee = f.Func
	}
	if len(shown) > 0 {
		return shown
	}
	return frames
}

// panics reports whether a function begins a panic. Traces show a wrapper that calls it: the fault is its own.
func panics(name string) bool {
	return name == "runtime.gopanic" || name == "runtime.sigpanic" || name == "runtime.panicwrap"
}

// tracesShow reports whether Go's traces show a function.
func tracesShow(f *Frame) bool {
	switch f.Func {
	case "runtime.gopanic", "runtime.runFinalizers", "runtime.runCleanups": // runfinq, before Go 1.25, is not shown
		return true
	}
	name, own := strings.CutPrefix(f.Func, "runtime.")
	if !own {
		return !f.Wrapper
	}
	receiver, method := "", name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		receiver, method = strings.TrimSuffix(strings.TrimPrefix(name[:i], "(*"), ")"), name[i+1:]
	}
	upper := func(s string) bool { return s != "" && s[0] >= 'A' && s[0] <= 'Z' }
	return upper(method) && (receiver == "" || upper(receiver))
}

// AppendTrace appends the goroutine in the form of a Go program's own trace, as runtime/pprof writes it with debug=2, and tools read it.
// The values of arguments are left out.
func (g *Goroutine) AppendTrace(b []byte) []byte {
	b = fmt.Appendf(b, "goroutine %d [%s", g.ID, g.State)
	if minutes := int(g.Waited / time.Minute); minutes >= 1 {
		b = fmt.Appendf(b, ", %d minutes", minutes)
	}
	if g.Locked != 0 {
		b = append(b, ", locked to thread"...)
	}
	if g.Bubble != 0 {
		b = fmt.Appendf(b, ", synctest bubble %d", g.Bubble)
	}
	b = append(b, "]:\n"...)
	if g.stack == nil {
		b = append(b, "\tgoroutine running on other thread; stack unavailable\n"...)
	}
	for _, f := range g.Trace() {
		b = fmt.Appendf(b, "%s(...)\n", clean.Text(traceName(&f)))
		b = appendPlace(b, &f)
	}
	return g.appendLine(appendCreator(b, g.CreatedAt(), g.Parent))
}

// appendCreator appends a go statement, if traces show its function.
func appendCreator(b []byte, by []Frame, parent uint64) []byte {
	if len(by) == 0 || !tracesShow(&by[len(by)-1]) {
		return b
	}
	function, place := by[len(by)-1], by[0] // the traces name no function that is inlined here
	b = append(b, "created by "...)
	b = append(b, clean.Text(traceName(&function))...)
	if parent != 0 {
		b = fmt.Appendf(b, " in goroutine %d", parent)
	}
	b = append(b, '\n')
	place.Inlined = false
	return appendPlace(b, &place)
}

// AppendRuntime appends a line that says which Go runtime the goroutines that follow belong to, and nothing if the process has only one.
// Readers of traces take what follows for another trace, which it is: numbers are those of each runtime by itself.
func (g *Goroutine) AppendRuntime(b []byte) []byte {
	if g.Runtime == "" {
		return b
	}
	return fmt.Appendf(b, "Go runtime of %s:\n\n", clean.Text(g.Runtime))
}

// appendPlace appends where a frame is.
func appendPlace(b []byte, f *Frame) []byte {
	b = append(b, '\t')
	b = append(b, clean.Text(cmp.Or(f.File, f.Object, "?"))...)
	b = append(b, ':')
	b = strconv.AppendInt(b, int64(f.Line), 10)
	if !f.Inlined && f.Offset > 0 {
		b = fmt.Appendf(b, " +%#x", f.Offset)
	}
	return append(b, '\n')
}

// traceName is the name of a function in Go's traces.
func traceName(f *Frame) string {
	if f.Func == "runtime.gopanic" {
		return "panic"
	}
	first, last := strings.IndexByte(f.Func, '['), strings.LastIndexByte(f.Func, ']')
	if first >= 0 && last > first {
		return f.Func[:first] + "[...]" + f.Func[last+1:]
	}
	return cmp.Or(f.Func, "?")
}

// A GoroutineGroup is goroutines with the same stack that do the same.
type GoroutineGroup struct {
	Goroutines []*Goroutine // by number
	// Least and Most are for how long they have waited at least; 0: some of them, or all, have not been seen waiting.
	Least, Most time.Duration
}

// GroupGoroutines puts goroutines into groups: largest first.
func GroupGoroutines(all []*Goroutine) []*GoroutineGroup {
	type key struct {
		stack   *goStack
		state   string
		runtime string
	}
	groups := make(map[key]*GoroutineGroup)
	var order []*GoroutineGroup
	for _, g := range all {
		k := key{g.stack, g.State, g.Runtime}
		of := groups[k]
		if of == nil {
			of = &GoroutineGroup{Least: g.Waited}
			groups[k] = of
			order = append(order, of)
		}
		of.Goroutines = append(of.Goroutines, g)
		of.Least, of.Most = min(of.Least, g.Waited), max(of.Most, g.Waited)
	}
	for _, of := range order {
		slices.SortFunc(of.Goroutines, func(a, b *Goroutine) int { return cmp.Compare(a.ID, b.ID) })
	}
	slices.SortFunc(order, func(a, b *GoroutineGroup) int {
		return cmp.Or(cmp.Compare(len(b.Goroutines), len(a.Goroutines)), cmp.Compare(a.Goroutines[0].ID, b.Goroutines[0].ID))
	})
	return order
}
