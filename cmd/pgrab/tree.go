package main

import (
	"context"
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
	sums   []count           // in the order of the command line
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
		hits := b.Hits()
		if hits == 0 {
			continue
		}
		rows = append(rows, of.counted(b))
		for i := range t.sums {
			if t.sums[i].where == b.Where() {
				t.sums[i].hits += hits
				t.sums[i].processes++
				break
			}
		}
	}
	t.g.mu.Lock()
	defer t.g.mu.Unlock()
	t.g.counts = append(t.g.counts, rows...)
}

// wait returns when all processes have been let go. It reports whether something went wrong.
func (t *tree) wait() (failed bool) {
	t.watchers.Wait()
	for _, b := range t.sums {
		if why := t.unset[b.where.String()]; why != "" {
			t.g.complain(unsetError(why))
			t.failed = true
		}
	}
	t.g.counts = append(t.g.counts, t.sums...)
	return t.failed
}

// unsetError is the error for a breakpoint that was set nowhere.
type unsetError string

func (e unsetError) Error() string { return string(e) }
