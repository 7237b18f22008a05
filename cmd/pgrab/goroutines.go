package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"ptools/internal/clean"
	"ptools/pctl"
)

// goroutines says how the goroutines of a Go program are shown. They are read without a stop.
type goroutines uint8

const (
	noGoroutines      goroutines = iota // its threads are shown
	groupedGoroutines                   // those with the same stack together
	eachGoroutine
	goTrace // in the form of Go's own traces, or as JSON
)

func (g goroutines) String() string { return [...]string{"none", "grouped", "each", "trace"}[g] }

// setGoroutines sets how goroutines are shown. They are wherever -w looks and lets go (setStacks), unless threads are asked for.
func (o *options) setGoroutines(threads, trace bool) error {
	looks := o.goroutines != noGoroutines && !o.follow
	o.goroutines = noGoroutines
	switch {
	case trace && threads:
		return errors.New("--go and --threads exclude each other")
	case trace && !looks:
		return errors.New("--go only looks at a running process: it goes with -p, and without -s, -H, -t, -b and --follow")
	case trace:
		o.goroutines = goTrace
	case !looks || threads || o.form == formJSON:
	case o.stacks == eachStack:
		o.goroutines = eachGoroutine
	default:
		o.goroutines = groupedGoroutines
	}
	return nil
}

// lookAt shows the goroutines of a process. It reports false if the process has none, so that its threads are to be shown.
func (g *grabber) lookAt(ctx context.Context, pid int) (done bool, err error) {
	p, err := g.session.Grab(ctx, pid, &pctl.GrabOptions{ReadOnly: true})
	if err != nil {
		return false, nil // to grab it says why
	}
	defer p.Close()
	var all []*pctl.Goroutine
	for one, e := range p.Goroutines(ctx) {
		if e != nil {
			err = e
			break
		}
		if g.goroutines == goTrace && one.System {
			continue
		}
		all = append(all, one)
	}
	switch {
	case errors.Is(err, pctl.ErrNoGo) && g.goroutines == goTrace:
		return true, &pctl.Error{Op: "goroutines", PID: pid, Err: fmt.Errorf("%w (-w shows its threads)", pctl.ErrNoGo)}
	case ctx.Err() != nil:
		return true, nil // we were asked to end
	case len(all) == 0 && err != nil:
		if g.goroutines == goTrace {
			return true, err
		}
		if errors.Is(err, pctl.ErrGoVersion) {
			g.complain(err) // and its threads are shown
		}
		return false, nil
	case g.form == formJSON:
		g.objects(p, all)
	case g.goroutines == goTrace:
		g.traces(all)
	default:
		g.groups(p, all)
	}
	return true, err
}

// pieces has text written as it grows, so that it is not all in memory.
func (g *grabber) pieces(b []byte, end bool) []byte {
	if len(b) < written && !end {
		return b
	}
	done := make(chan struct{})
	g.out.put(&record{text: b})
	g.out.then(func() { close(done) })
	<-done
	return b[:0]
}

// traces prints goroutines as Go's own traces do.
func (g *grabber) traces(all []*pctl.Goroutine) {
	var b []byte
	for i, one := range all {
		if i > 0 {
			b = append(b, '\n')
		}
		if i == 0 || one.Runtime != all[i-1].Runtime {
			b = one.AppendRuntime(b)
		}
		b = g.pieces(one.AppendTrace(b), false)
	}
	g.pieces(b, true)
}

// groups prints goroutines, those with the same stack together, then what is not the program's own.
func (g *grabber) groups(p *pctl.Process, all []*pctl.Goroutine) {
	own := slices.DeleteFunc(slices.Clone(all), func(one *pctl.Goroutine) bool { return one.System })
	of := pctl.GroupGoroutines(own)
	if g.goroutines == eachGoroutine {
		of = of[:0]
		slices.SortFunc(own, func(a, b *pctl.Goroutine) int { return cmp.Compare(a.ID, b.ID) })
		for _, one := range own {
			of = append(of, &pctl.GoroutineGroup{Goroutines: []*pctl.Goroutine{one}, Least: one.Waited, Most: one.Waited})
		}
	}
	files := filesOf(p, of)
	var b []byte
	for _, group := range of {
		b = fmt.Appendf(b, "pid %d: ", p.PID())
		b = g.pieces(appendGoroutines(b, group, files, g.detail == detailAll), false)
	}
	states := make(map[string]int)
	for _, one := range all {
		if one.System {
			states[one.State]++
		}
	}
	if len(states) > 0 {
		b = fmt.Appendf(b, "pid %d: %s of Go's runtime: %s\n", p.PID(), plural(len(all)-len(own), "goroutine"), counted(states))
	}
	if tids, err := p.Threads(); err == nil {
		b = fmt.Appendf(b, "pid %d: %s: --threads shows their stacks\n", p.PID(), plural(len(tids), "thread"))
	}
	g.pieces(b, true)
}

// counted lists how many there are of each: the most frequent first.
func counted(of map[string]int) string {
	var texts []string
	for _, what := range slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(of[b]-of[a], strings.Compare(a, b)) }) {
		text := clean.Text(what)
		if of[what] > 1 && len(of) > 1 {
			text += " (" + strconv.Itoa(of[what]) + ")"
		}
		texts = append(texts, text)
	}
	if more := len(texts) - mostListed; more > 0 {
		texts = append(texts[:mostListed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}

// appendGoroutines prints a group. With all it prints functions of Go's runtime and source lines, too.
func appendGoroutines(b []byte, of *pctl.GoroutineGroup, files map[pctl.GoPoll]pctl.OpenFile, all bool) []byte {
	first := of.Goroutines[0]
	in := ""
	if first.Runtime != "" {
		in = " of " + clean.Text(path.Base(first.Runtime))
	}
	if len(of.Goroutines) == 1 {
		b = fmt.Appendf(b, "goroutine %d%s, %s", first.ID, in, clean.Text(first.State))
	} else {
		b = fmt.Appendf(b, "%d goroutines%s, %s", len(of.Goroutines), in, clean.Text(first.State))
	}
	b = append(b, waited(of)...)
	switch locked := lockedOf(of); {
	case locked > 0 && len(of.Goroutines) == 1:
		b = fmt.Appendf(b, ", locked to tid %d", first.Locked)
	case locked > 0:
		b = fmt.Appendf(b, ", %d locked to threads", locked)
	}
	if first.Thread != 0 && len(of.Goroutines) == 1 {
		b = fmt.Appendf(b, ", on tid %d", first.Thread)
	}
	if len(of.Goroutines) > 1 {
		b = fmt.Appendf(b, ": %s", numbers(of.Goroutines))
	}
	b = append(b, '\n')
	b = appendGoWaits(b, of, files)
	labels := make(map[string]int)
	for _, g := range of.Goroutines {
		if len(g.Labels) > 0 {
			var pairs []string
			for _, l := range g.Labels {
				pairs = append(pairs, l.Key+"="+l.Value)
			}
			labels[strings.Join(pairs, " ")]++
		}
	}
	if len(labels) > 0 {
		b = fmt.Appendf(b, "    labels %s\n", counted(labels))
	}
	frames, err := first.Trace(), error(nil)
	if all {
		frames, err = first.Stack()
	}
	b = appendFrames(b, frames, all)
	if _, e := first.Stack(); e != nil && len(frames) == 0 {
		b = append(b, "    -- its stack is known only while it stands still (--threads stops it)\n"...)
	} else if err != nil {
		b = fmt.Appendf(b, "    -- %s\n", clean.Text(err.Error()))
	}
	b = appendCreator(b, of, all)
	if all {
		b = appendAncestors(b, of)
	}
	return b
}

// appendAncestors prints the ancestors of a group, if all have the same ones.
func appendAncestors(b []byte, of *pctl.GoroutineGroup) []byte {
	first := of.Goroutines[0]
	for _, g := range of.Goroutines {
		if !g.SameAncestors(first) {
			return append(b, "    -- ancestors differ (--each shows them)\n"...)
		}
	}
	line, err := first.Ancestors()
	for _, a := range line {
		b = fmt.Appendf(b, "    originating from goroutine %d\n", a.ID)
		b = appendFrames(b, a.Stack, true)
		if a.Cut {
			b = append(b, "    -- Go's runtime records no deeper stack\n"...)
		}
		b = appendCreatedBy(b, a.CreatedAt, 0, true)
	}
	if err != nil {
		b = fmt.Appendf(b, "    -- %s\n", clean.Text(err.Error()))
	}
	return b
}

// lockedOf counts goroutines that are locked to threads.
func lockedOf(of *pctl.GoroutineGroup) (n int) {
	for _, g := range of.Goroutines {
		if g.Locked != 0 {
			n++
		}
	}
	return n
}

// waited says for how long a group has waited at least.
func waited(of *pctl.GoroutineGroup) string {
	least, most := of.Least.Truncate(time.Second)/time.Second, of.Most.Truncate(time.Second)/time.Second
	switch {
	case most == 0:
		return ""
	case of.Least == 0:
		return fmt.Sprintf(", up to %d s or more", most)
	case least == most:
		return fmt.Sprintf(", at least %d s", most)
	}
	return fmt.Sprintf(", at least %d to %d s", least, most)
}

// numbers lists the numbers of goroutines: "18-117, 120".
func numbers(of []*pctl.Goroutine) string {
	var texts []string
	for i := 0; i < len(of); {
		n := i + 1
		for n < len(of) && of[n].ID == of[n-1].ID+1 {
			n++
		}
		if len(texts) == mostListed {
			return strings.Join(texts, ", ") + fmt.Sprintf(" and %d more", len(of)-i)
		}
		text := strconv.FormatUint(of[i].ID, 10)
		if n > i+1 {
			text += "-" + strconv.FormatUint(of[n-1].ID, 10)
		}
		texts = append(texts, text)
		i = n
	}
	return strings.Join(texts, ", ")
}

// appendCreator prints the go statement of a group, if it is one.
func appendCreator(b []byte, of *pctl.GoroutineGroup, lines bool) []byte {
	first := of.Goroutines[0]
	sameParent := true
	for _, g := range of.Goroutines {
		if g.Creator != first.Creator {
			return b
		}
		sameParent = sameParent && g.Parent == first.Parent
	}
	parent := first.Parent
	if !sameParent {
		parent = 0
	}
	return appendCreatedBy(b, first.CreatedAt(), parent, lines)
}

func appendCreatedBy(b []byte, by []pctl.Frame, parent uint64, lines bool) []byte {
	if len(by) == 0 {
		return b
	}
	b = fmt.Appendf(b, "    created by %s", clean.Text(cmp.Or(by[len(by)-1].Func, "?")))
	if parent != 0 {
		b = fmt.Appendf(b, " in goroutine %d", parent)
	}
	if lines && by[0].File != "" {
		b = fmt.Appendf(b, " at %s:%d", clean.Text(by[0].File), by[0].Line)
	}
	return append(b, '\n')
}
