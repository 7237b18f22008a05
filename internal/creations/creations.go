// Package creations counts where threads create threads. It does not sample: every creation counts, with the creator's stack.
//
// The controllers call its hooks while the creating thread stands in its clone event. The hook
// unwinds the stack: later the process may have ended, and nothing could be known of objects
// that it has just loaded. A goroutine of Run counts. If too many creations wait to be counted,
// the hook waits too, and the creators with it. So no creation is dropped.
package creations

import (
	"context"
	"sync"
	"time"

	"ptools/internal/machine"
	"ptools/internal/profile"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// Counter makes a profile of where threads are created.
type Counter struct {
	profile *profile.Profile

	mu      sync.Mutex
	changed sync.Cond // of ready, free, open, busy
	open    bool      // hooks count
	busy    int       // hooks that are about to add to ready
	created int
	ready   []*creation
	free    []*creation
	targets []*creator
}

// creation is one clone event.
type creation struct {
	from   *creator
	image  source.Image // the image that the stack belongs to
	tid    int
	name   string // of the creating thread, at its first creation
	levels []profile.Addr
}

// creator is a process whose threads create threads.
type creator struct {
	process *source.Process
	image   source.Image   // present; the hook's while Run runs
	snap    source.Capture // the hook's
	buf     []byte         // the hook's
	named   map[int]string // the hook's: the threads that have created
	before  map[int]bool   // threads that existed when Run began; under Counter.mu
	known   int            // their number; likewise
	taken   source.Image   // the image that is being counted
	space   *profile.Space // of that
}

const (
	creationStack  = 32 << 10 // bytes of the creator's stack that are copied
	creationsQueue = 256      // creations that may wait
)

// New returns a profile that is empty and does not count yet.
func New() *Counter {
	c := &Counter{profile: profile.New()}
	c.profile.Subject = profile.ThreadCreate
	c.changed.L = &c.mu
	for range creationsQueue {
		c.free = append(c.free, nil) // allocated when first used
	}
	return c
}

// Registers are the registers of a thread, in the layout of *pctl.Registers.
type Registers = machine.Regs

// Hook returns the function that a controller has to call for each new thread of
// its process (control.Options.OnThreadStart). It does nothing until a process
// has been bound to it and Run runs.
func (c *Counter) Hook() (hook func(creator, child int, regs *Registers), bind func(*source.Process)) {
	from := &creator{buf: make([]byte, creationStack), named: make(map[int]string)}
	hook = func(tid, child int, regs *Registers) { c.take(from, tid, child, regs) }
	bind = func(p *source.Process) {
		c.mu.Lock()
		defer c.mu.Unlock()
		from.process = p
		c.targets = append(c.targets, from)
	}
	return hook, bind
}

// take runs on a control goroutine.
func (c *Counter) take(from *creator, tid, child int, regs *Registers) {
	n := c.room(from, child)
	if n == nil {
		return
	}
	from.unwind(n, regs)
	from.name(n, tid)
	c.mu.Lock()
	c.created++
	c.busy--
	c.ready = append(c.ready, n)
	c.mu.Unlock()
	c.changed.Broadcast()
}

// room returns an unused creation; nil if none are counted.
func (c *Counter) room(from *creator, child int) *creation {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open && len(c.free) == 0 {
		c.changed.Wait()
	}
	if !c.open || from.image == nil {
		return nil
	}
	last := len(c.free) - 1
	n := c.free[last]
	c.free = c.free[:last]
	if n == nil {
		n = new(creation)
	}
	c.busy++
	if from.before[child] { // it has stopped before its creator's event
		delete(from.before, child)
		from.known--
	}
	n.from = from
	return n
}

// unwind takes the stack of the stopped thread with these registers.
func (from *creator) unwind(n *creation, regs *Registers) {
	if from.image.Stale() {
		if image, err := from.process.Image(); err == nil {
			from.image = image // the old one is closed when all of it has been counted
		}
	}
	s := &from.snap
	s.Regs.Regs = *regs
	s.PC, s.SP, s.Base = regs.PC(), regs.SP(), regs.SP()-source.RedZone
	s.Stack = from.buf[:from.image.ReadStack(from.buf, s.Base)]
	var end unwind.End
	n.levels, end = from.image.Unwind(s, n.levels[:0])
	if source.RanOut(end) {
		from.image.Refresh()
		n.levels, _ = from.image.Unwind(s, n.levels[:0])
	}
	n.image = from.image
}

// name reads the name of a thread at its first creation.
func (from *creator) name(n *creation, tid int) {
	n.tid = tid
	name, ok := from.named[tid]
	if !ok {
		if t, err := from.process.Thread(tid); err == nil {
			name, _ = t.Comm()
			t.Close()
		}
		from.named[tid] = name
	}
	n.name = name
}

// Run counts until d has passed (0: without a limit), every process has ended, or
// ctx is done. begun is called when counting has begun, like sample.Options.Begun. Run must be called once only.
func (c *Counter) Run(ctx context.Context, d time.Duration, begun func(context.Context) error) error {
	begin := time.Now()
	c.profile.Start = begin
	defer func() { c.profile.Duration = time.Since(begin) }()
	for _, from := range c.targets {
		if err := c.attend(from); err != nil {
			return &source.Error{PID: from.process.PID, Err: err}
		}
	}
	if d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	c.begin()
	err := begun(ctx)
	counted := make(chan struct{})
	go func() { // ends after setOpen(false), awaited below
		defer close(counted)
		for n := c.next(); n != nil; n = c.next() {
			c.count(n)
		}
	}()
	if err == nil {
		c.wait(ctx)
	}
	c.setOpen(false)
	<-counted
	for _, from := range c.targets {
		c.countBefore(from)
		from.space.ResolveAll()
		from.taken.Close()
	}
	return err
}

// wait returns when every process has ended or ctx is done.
func (c *Counter) wait(ctx context.Context) {
	for _, from := range c.targets {
		select {
		case <-from.process.Control.Done():
		case <-ctx.Done():
		}
	}
}

// begin starts the counting of hooks, and records the threads that exist already. The first thread of a process
// has no creator.
func (c *Counter) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = true
	for _, from := range c.targets {
		from.before = make(map[int]bool)
		for _, tid := range from.process.Control.Threads() {
			if tid != from.process.PID {
				from.before[tid] = true
			}
		}
		from.known = len(from.before)
	}
	time.AfterFunc(reportedSoon, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, from := range c.targets {
			from.before = nil // the numbers may come again
		}
	})
}

// reportedSoon is the longest time from the first stop of a new thread to its creator's event.
const reportedSoon = time.Second

// countBefore counts the threads that existed before.
func (c *Counter) countBefore(from *creator) {
	c.mu.Lock()
	n := int64(from.known)
	c.mu.Unlock()
	if n == 0 {
		return
	}
	c.profile.Existing += n
	id := c.profile.Thread(from.process.PID, 0, "[created before]")
	stack := from.space.Push(0, c.profile.Note("[created before]"))
	from.space.Add(from.space.Cell(id, stack), profile.Values{Samples: n})
}

func (c *Counter) setOpen(open bool) {
	c.mu.Lock()
	c.open = open
	c.mu.Unlock()
	c.changed.Broadcast()
}

// attend opens the first image of a process.
func (c *Counter) attend(from *creator) error {
	image, err := from.process.Image()
	if err != nil {
		return err
	}
	c.mu.Lock()
	from.image = image
	c.mu.Unlock()
	c.follow(from, image)
	return nil
}

// follow begins to count for an image.
func (c *Counter) follow(from *creator, image source.Image) {
	from.taken = image
	from.space = c.profile.Space(from.process.PID, image.Executable(), image)
}

// next waits for a creation. It returns nil after the end, when none is left.
func (c *Counter) next() *creation {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.ready) == 0 {
		if !c.open && c.busy == 0 {
			return nil
		}
		c.changed.Wait()
	}
	n := c.ready[0]
	c.ready = c.ready[1:]
	return n
}

// count counts a creation and frees its entry.
func (c *Counter) count(n *creation) {
	from := n.from
	if old, space := from.taken, from.space; n.image != old {
		c.follow(from, n.image)
		space.Retire()
		old.Close()
	}
	id := c.profile.Thread(from.process.PID, n.tid, n.name)
	from.space.Add(from.space.Cell(id, from.space.Stack(n.levels)), profile.Values{Samples: 1})
	c.mu.Lock()
	c.free = append(c.free, n)
	c.mu.Unlock()
	c.changed.Broadcast()
}

// Created returns the number of creations since Run began. It may be called from any
// goroutine, at any time.
func (c *Counter) Created() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.created
}

// Profile returns what has been counted, after Run.
func (c *Counter) Profile() *profile.Profile { return c.profile }
