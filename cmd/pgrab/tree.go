package main

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"ptools/pctl"
)

// tree is what the processes of --follow share. Each is a target with a goroutine that watches it; wait waits for them.
type tree struct {
	g        *grabber
	ctx      context.Context // ends when all are to be let go
	watchers sync.WaitGroup

	mu     sync.Mutex
	failed bool
	sums   []count           // in the order of the command line, then functions of patterns as they come
	told   map[string]bool   // texts that are printed only for the first process that they apply to
	unset  map[string]string // breakpoints that were set in no process, and why not in the last one
}

// newTree makes a tree. stop ends the time limit.
func newTree(ctx context.Context, g *grabber) (t *tree, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop = cancel
	if g.limit >= 0 {
		timer := time.AfterFunc(g.limit, cancel)
		stop = func() { timer.Stop(); cancel() }
	}
	t = &tree{g: g, ctx: ctx, told: map[string]bool{}, unset: map[string]string{}}
	for _, w := range g.breaks {
		t.sums = append(t.sums, count{where: w})
	}
	return t, stop
}

// isNews reports whether a text has not been printed for another process of the tree.
func (t *tree) isNews(text string) bool {
	if t == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	defer func() { t.told[text] = true }()
	return !t.told[text]
}

// follow returns the option for the processes of the command line; nil without --follow.
func (t *tree) follow() *pctl.Follow {
	if t == nil {
		return nil
	}
	return &pctl.Follow{Begin: t.begin}
}

// within returns the context in which a target is watched: ctx without --follow.
func (t *tree) within(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	return t.ctx
}

// begin is called with each process that is followed, before it runs.
func (t *tree) begin(p *pctl.Process) {
	child := newTarget(t.g, p)
	child.planted = []*pctl.Breakpoint{} // it has those of its parent already
	t.watchers.Go(func() {
		_, err := child.watch(t.ctx)
		if err == nil {
			return
		}
		if _, told := err.(status); !told {
			t.g.complain(err)
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.failed = true
	})
}

// count adds the hits of a process that has been let go, or has ended. A process without hits gets no row.
func (t *tree) count(of *target) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var rows []count
	for _, b := range of.p.Breakpoints() {
		where := b.Where().String()
		if b.Found() {
			t.unset[where] = ""
		} else if _, known := t.unset[where]; !known {
			t.unset[where] = of.whyUnset(b)
		}
		for _, row := range of.counted(b) {
			t.sum(&row)
			if row.hits > 0 {
				rows = append(rows, row)
			}
		}
	}
	t.g.mu.Lock()
	defer t.g.mu.Unlock()
	t.g.counts = append(t.g.counts, rows...)
}

// sum adds a row of a process to the row of all.
func (t *tree) sum(row *count) {
	i := slices.IndexFunc(t.sums, func(c count) bool { return c.where == row.where && c.function == row.function })
	if i < 0 {
		i = len(t.sums)
		t.sums = append(t.sums, count{where: row.where, function: row.function})
	}
	if t.sums[i].hits += row.hits; row.hits > 0 {
		t.sums[i].processes++
	}
}

// all returns the rows of all processes, in the order of the command line; those of a pattern with the most hits first.
func (t *tree) all() (rows []count) {
	for _, w := range t.g.breaks {
		of := slices.DeleteFunc(slices.Clone(t.sums), func(c count) bool { return c.where != w })
		if len(of) > 1 { // functions of a pattern, without the pattern itself
			of = of[1:]
		}
		slices.SortStableFunc(of, func(a, b count) int {
			return cmp.Or(cmp.Compare(b.hits, a.hits), cmp.Compare(a.function.symbol, b.function.symbol))
		})
		rows = append(rows, withoutUnhit(of)...)
	}
	return rows
}

// wait returns when all processes have been let go. It reports whether something went wrong.
func (t *tree) wait() (failed bool) {
	t.watchers.Wait()
	for _, b := range t.g.breaks {
		if why := t.unset[b.String()]; why != "" {
			t.g.complain(unsetError(why))
			t.failed = true
		}
	}
	t.g.counts = append(t.g.counts, t.all()...)
	return t.failed
}

// unsetError is the error for a breakpoint that was set nowhere.
type unsetError string

func (e unsetError) Error() string { return string(e) }
