package sample

import (
	"context"
	"maps"
	"slices"
	"sync"

	"ptools/internal/creations"
	"ptools/pctl"
)

// creators are the processes whose creations of threads are counted now. A process is grabbed once for all that count them.
type creators struct {
	mu   sync.Mutex
	byID map[int]*creator // by process
}

// creator is one of these processes.
type creator struct {
	users int // guarded by creators.mu
	grab  sync.Once
	p     *pctl.Process
	err   error

	mu    sync.Mutex
	hooks map[*creations.Counter]hook
}

type hook func(creator, child int, regs *creations.Registers)

// count grabs a process, unless it is grabbed already, and has h called for each creation until stop is called.
func (c *creators) count(ctx context.Context, session *pctl.Session, pid int, of *creations.Counter, h hook) (_ *pctl.Process, stop func(), err error) {
	c.mu.Lock()
	if c.byID == nil {
		c.byID = make(map[int]*creator)
	}
	one := c.byID[pid]
	if one == nil {
		one = &creator{hooks: make(map[*creations.Counter]hook)}
		c.byID[pid] = one
	}
	one.users++
	c.mu.Unlock()
	one.grab.Do(func() {
		// Others may wait for this, whose contexts are not done.
		one.p, one.err = session.Grab(context.WithoutCancel(ctx), pid, &pctl.GrabOptions{OnThreadStart: one.created})
	})
	one.hook(of, h)
	stop = func() {
		one.hook(of, nil)
		c.mu.Lock()
		one.users--
		last := one.users == 0
		if last {
			delete(c.byID, pid)
		}
		c.mu.Unlock()
		if last && one.p != nil {
			one.p.Close()
		}
	}
	if one.err != nil {
		stop()
		return nil, nil, one.err
	}
	return one.p, stop, nil
}

// hook sets the hook of one of those that count; nil removes it.
func (c *creator) hook(of *creations.Counter, h hook) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h == nil {
		delete(c.hooks, of)
		return
	}
	c.hooks[of] = h
}

// created is called on the control goroutine.
func (c *creator) created(creator, child int, regs *pctl.Registers) {
	c.mu.Lock()
	hooks := slices.Collect(maps.Values(c.hooks))
	c.mu.Unlock()
	for _, h := range hooks {
		h(creator, child, (*creations.Registers)(regs))
	}
}
