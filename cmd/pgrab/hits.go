package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"ptools/pctl"
)

var errUnmapped = errors.New("nothing is mapped there (an address is one of the running process; in a file it is SYMBOL+OFFSET)")

// plant sets the breakpoints of the command line.
func (t *target) plant(ctx context.Context) {
	t.planted = make([]*pctl.Breakpoint, 0, len(t.breaks))
	var h pctl.Handler // nil: hits are only counted
	if t.options.stacks != noStacks || t.options.values != noValues {
		h = t.grabber.keep
	}
	for _, w := range t.breaks {
		b, err := t.p.Break(ctx, w, h)
		if err != nil {
			if ctx.Err() == nil && !over(err) {
				if w.Symbol == "" && w.File == "" && errors.Is(err, syscall.EFAULT) {
					err = &pctl.Error{Op: "break " + w.String(), PID: t.p.PID(), Err: errUnmapped}
				}
				t.complain(err)
				t.failed = true
			}
			continue
		}
		if err := t.lacksArgs(ctx, b); err != nil {
			t.complain(&pctl.Error{Op: "break " + w.String(), PID: t.p.PID(), Err: err})
			t.failed = true
			continue
		}
		t.planted = append(t.planted, b)
		if text := t.newsOf(b); text != "" && t.showsEvents() && t.tree.isNews(text) {
			t.note(text)
		}
	}
}

// newsOf returns what there is to say of a breakpoint that was set just now.
func (t *target) newsOf(b *pctl.Breakpoint) string {
	w := b.Where()
	switch n := len(b.Addrs()); {
	case n == 0 && len(t.pids) != 0 && b.Source().Known:
		return b.NoCode().Error() + "; waiting for an object that has"
	case n == 0 && len(t.pids) != 0:
		return "no object that is loaded has " + w.String() + " yet; waiting for one"
	case n > 1 && w.File != "":
		return w.String() + " has " + plural(n, "place") + inFiles(b)
	case w.File != "" && len(b.Source().Files) > 1:
		return w.String() + " is ambiguous" + inFiles(b)
	}
	return ""
}

// inFiles names the source files that a line is in, if they are several.
func inFiles(b *pctl.Breakpoint) string {
	files := b.Source().Files
	if len(files) < 2 {
		return ""
	}
	return ", in " + plural(len(files), "file") + " of that name: " + strings.Join(files, ", ")
}

// lacks reports a place where a breakpoint could not be set, or whose text is gone. From then on hits there are not
// counted.
func (t *target) lacks(e pctl.Event) {
	t.failed = true
	t.print(&record{Event: e})
	if !t.showsEvents() {
		t.note(what(e))
	}
}

// nearest is how many names are proposed for one that was not found.
const nearest = 3

// tellUnset reports the breakpoints whose symbol no object had, and those whose function was also inlined.
func (t *target) tellUnset() {
	for _, b := range t.planted {
		if !b.Found() {
			t.failed = true
			t.note(t.whyUnset(b))
		} else if inlined := inlinedIn(b); inlined != "" {
			t.note("breakpoint " + b.Where().String() + " is not hit where the function is inlined: in " + inlined)
		}
	}
}

// inlinedIn lists functions that the function of a breakpoint was inlined into.
func inlinedIn(b *pctl.Breakpoint) string {
	names := b.Inlined()
	if more := len(names) - nearest; more > 1 {
		return strings.Join(names[:nearest], ", ") + " and " + strconv.Itoa(more) + " more"
	}
	return strings.Join(names, ", ")
}

func (t *target) whyUnset(b *pctl.Breakpoint) string {
	text := "breakpoint " + b.Where().String() + " was never set: "
	if why := b.NoCode(); why != nil && t.p.Lack(b.Where()) == nil {
		return text + why.Error()
	}
	if inlined := inlinedIn(b); inlined != "" {
		return text + "it is inlined in " + inlined
	}
	if why := t.p.Lack(b.Where()); why != nil {
		text += "an object cannot be read: " + why.Error()
	} else {
		text += "no object that was loaded has such a function"
		if b.Where().IsPattern() {
			return text
		}
	}
	if meant := t.meant(b.Where()); meant != "" {
		return text + " (" + meant + ")"
	}
	if names := t.p.Near(b.Where(), nearest); len(names) != 0 {
		text += " (similar: " + strings.Join(names, ", ") + ")"
	}
	return text
}

// meant returns what a symbol means that no object has, if it is another way to write one that is there: with parameters,
// whose types symbols write out in full, or behind its object as other tools separate them.
func (t *target) meant(w pctl.Where) string {
	if name, _, ok := strings.Cut(w.Symbol, "("); ok && t.has(w.Object, name) {
		return name + " without parameters is all functions of that name"
	}
	for _, sign := range []string{":", "!", "/"} {
		object, name, ok := strings.Cut(w.Symbol, sign)
		if ok && object != "" && t.has(object, name) {
			return "an object and its symbol are written '" + object + "`" + name + "'"
		}
	}
	return ""
}

// has reports whether an object, or any, has a function.
func (t *target) has(object, name string) bool {
	return name != "" && slices.Contains(t.p.Near(pctl.Where{Object: object, Symbol: name}, nearest), name)
}

// seen is what keep has seen of the thread at a hit.
type seen struct {
	thread *pctl.Thread // with -w
	args   *string      // with --args
}

// keep is the handler of breakpoints whose hits print stacks or arguments. It runs on the
// control goroutine while the thread stands still, so it copies and returns.
// If the output is too slow, the hit will get no line and needs neither.
func (g *grabber) keep(h *pctl.Hit) {
	if g.out.full() || g.copies.Load() >= queued {
		return
	}
	g.copies.Add(1)
	s := &seen{}
	if g.stacks != noStacks {
		s.thread = h.Thread()
	}
	if g.values == arguments {
		text := "?"
		if args, err := h.Args(); err == nil {
			text = pctl.ArgsText(args)
		}
		s.args = &text
	}
	h.Attach(s)
}

// wantsHits reports whether each hit is an event, for which its thread stops. Otherwise hits are only counted.
func (o *options) wantsHits() bool {
	return len(o.breaks) != 0 && (o.showsEvents() || o.stacks != noStacks || o.hits > 0)
}

// hit prints a hit, with the stack that keep has copied. Hits that come faster
// than they can be printed are only counted, so that output does not delay the
// process.
func (t *target) hit(ctx context.Context, e pctl.Event) {
	r := &record{Event: t.placed(e), skipped: t.skipped}
	if s, ok := e.Attached.(*seen); ok {
		t.copies.Add(-1)
		r.thread, r.args = s.thread, s.args
	}
	n, news := t.flood.hit(e.Time)
	if news && !t.limited {
		t.note(flooded)
	}
	if t.options.hits > 0 && n >= int64(t.options.hits) {
		t.enough(ctx, n == int64(t.options.hits))
		if n > int64(t.options.hits) {
			return // of threads that were at a breakpoint already
		}
	}
	switch {
	case !t.showsEvents() && t.options.stacks == noStacks:
	case t.out.offer(r):
		t.skipped = 0
	default:
		t.skipped++
	}
}

// enough takes the breakpoints of the process away, and lets a process of -p go, when there have been as many hits as were
// wanted. A command runs on. first is true for one process of all.
func (t *target) enough(ctx context.Context, first bool) {
	for _, b := range t.p.Breakpoints() {
		if err := b.Remove(context.WithoutCancel(ctx)); err != nil && !over(err) {
			t.complain(err)
			t.failed = true
		}
	}
	if !first {
		return
	}
	if t.limited {
		t.note(fmt.Sprintf("%d hits shown, the breakpoints are taken away (-n HITS for more, -n 0 for all; -q only counts)", t.options.hits))
	}
	if t.job == nil {
		t.letGo()
	}
}

// flood counts the hits of all processes.
type flood struct {
	mu     sync.Mutex
	total  int64
	second time.Time // when the second began in which count hits have come
	count  int
	told   bool
}

const (
	mostShown = 1000 // hits that a terminal shows
	many      = 1000 // hits of a second that are worth a word
)

// flooded is said when there are many hits, once.
const flooded = "more than 1000 hits a second, and each stops its thread: the process is slower (-q only counts, without stops where the kernel can; -n HITS ends it)"

// hit counts a hit. It returns how many there have been, and whether it is time to say that there are many.
func (f *flood) hit(now time.Time) (total int64, news bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.second) > time.Second {
		f.second, f.count = now, 0
	}
	f.total, f.count = f.total+1, f.count+1
	if f.told || f.count <= many {
		return f.total, false
	}
	f.told = true
	return f.total, true
}

// placed fills in the symbol and object at the address of a hit, for a
// breakpoint that was given by address.
func (t *target) placed(e pctl.Event) pctl.Event {
	if e.Symbol != "" {
		return e
	}
	f, ok := t.places[e.Addr]
	if !ok {
		frames := t.p.Lookup(e.Addr)
		f = frames[len(frames)-1]
		t.places[e.Addr] = f
	}
	e.Symbol, e.Object = f.Func, f.Object
	if f.Func != "" {
		e.Offset = f.Offset
	}
	return e
}

// count reports breakpoints that were not set, and adds the counts of the breakpoints to the final table.
func (t *target) count() {
	if t.tree != nil {
		t.tree.count(t)
		return
	}
	t.tellUnset()
	var rows []count
	for _, b := range t.planted {
		rows = append(rows, withoutUnhit(t.counted(b))...)
	}
	t.grabber.mu.Lock()
	defer t.grabber.mu.Unlock()
	t.counts = append(t.counts, rows...)
}

// counted returns the count of a breakpoint; of a pattern or a line that of each place, the most hits first.
func (t *target) counted(b *pctl.Breakpoint) (rows []count) {
	places := b.Places()
	if !b.Where().IsPattern() && b.Where().File == "" || len(places) == 0 {
		return []count{{pid: t.p.PID(), where: b.Where(), addrs: b.Addrs(), hits: b.Hits()}}
	}
	for _, p := range places {
		rows = append(rows, count{pid: t.p.PID(), where: b.Where(), function: function{p.Symbol, p.Object, p.Offset}, addrs: p.Addrs, hits: p.Hits})
	}
	return rows
}

// fewUnhit are so few places of a line that each has a row.
const fewUnhit = 8

// withoutUnhit replaces the places of a pattern, or of a line if they are many, that were not hit by one row.
func withoutUnhit(rows []count) []count {
	hit := slices.IndexFunc(rows, func(c count) bool { return c.function != function{} && c.hits == 0 })
	if hit < 0 || rows[hit].where.File != "" && len(rows)-hit <= fewUnhit {
		return rows
	}
	rest := rows[hit]
	rest.function, rest.unhit, rest.addrs = function{}, len(rows)-hit, nil
	return append(rows[:hit:hit], rest)
}
