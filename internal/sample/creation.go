package sample

import (
	"context"
	"sync"
	"time"

	"ptools/internal/profile"
	"ptools/internal/ptrace"
	"ptools/internal/unwind"
)

// Creations profiles where threads are created. It does not sample: every
// creation counts, with the creator's stack.
//
// The controllers call its hooks while the creating thread stands in its clone
// event. A hook copies registers and stack; a goroutine of Run unwinds. When the
// copies that wait for that are too many, the hook waits too, and the creators
// with it: no creation is dropped.
type Creations struct {
	profile *profile.Profile

	mu      sync.Mutex
	changed sync.Cond // of ready, free, open
	open    bool      // hooks count
	created int
	ready   []*creation
	free    []*creation
	targets []*creator
}

// creation is one clone event.
type creation struct {
	from *creator
	tid  int
	snap Snapshot
	buf  [creationStack]byte
}

// creator is a process whose threads create threads.
type creator struct {
	source *Source
	image  Image
	space  *profile.Space
	levels []profile.Addr
	names  map[int]profile.ThreadID
}

const (
	creationStack  = 32 << 10 // bytes of the creator's stack that are copied
	creationsQueue = 256      // copies that may wait
)

// NewCreations returns a profile that is empty and does not count yet.
func NewCreations() *Creations {
	c := &Creations{profile: profile.New()}
	c.profile.Subject = profile.ThreadCreate
	c.changed.L = &c.mu
	for range creationsQueue {
		c.free = append(c.free, nil) // allocated when first used
	}
	return c
}

// Hook returns the function that a controller has to call for each thread of its
// process that is created (control.Options.OnThreadStart). It does nothing until
// a source has been bound to it and Run runs.
func (c *Creations) Hook() (hook func(creator, child int, regs *ptrace.Regs), bind func(*Source)) {
	from := &creator{names: make(map[int]profile.ThreadID)}
	hook = func(tid, _ int, regs *ptrace.Regs) { c.copy(from, tid, regs) }
	bind = func(src *Source) {
		c.mu.Lock()
		defer c.mu.Unlock()
		from.source = src
		c.targets = append(c.targets, from)
	}
	return hook, bind
}

// copy runs on a control goroutine.
func (c *Creations) copy(from *creator, tid int, regs *ptrace.Regs) {
	n, image := c.room(from)
	if n == nil {
		return
	}
	n.from, n.tid = from, tid
	s := &n.snap
	s.Regs = *regs
	s.PC, s.SP, s.Base = regs.PC(), regs.SP(), regs.SP()-redZone
	s.Stack = n.buf[:image.ReadStack(n.buf[:], s.Base)]
	c.mu.Lock()
	c.created++
	c.ready = append(c.ready, n)
	c.mu.Unlock()
	c.changed.Broadcast()
}

// room returns an unused creation, and the image to read the stack by; nil if
// nobody counts.
func (c *Creations) room(from *creator) (*creation, Image) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open && len(c.free) == 0 {
		c.changed.Wait()
	}
	if !c.open || from.image == nil {
		return nil, nil
	}
	last := len(c.free) - 1
	n := c.free[last]
	c.free = c.free[:last]
	if n == nil {
		n = new(creation)
	}
	return n, from.image
}

// Run counts until d has passed (0: for ever), every process has ended, or ctx is
// done. begun is called when creations count, as Options.Begun of a Sampler. To be
// called once.
func (c *Creations) Run(ctx context.Context, d time.Duration, begun func(context.Context) error) error {
	begin := time.Now()
	c.profile.Start = begin
	defer func() { c.profile.Duration = time.Since(begin) }()
	for _, from := range c.targets {
		if err := c.attend(from); err != nil {
			return &ProcessError{from.source.PID, err}
		}
	}
	if d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	c.setOpen(true)
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
		from.space.ResolveAll()
		from.image.Close()
	}
	return err
}

// wait returns when every process has ended or ctx is done.
func (c *Creations) wait(ctx context.Context) {
	for _, from := range c.targets {
		select {
		case <-from.source.Control.Done():
		case <-ctx.Done():
		}
	}
}

func (c *Creations) setOpen(open bool) {
	c.mu.Lock()
	c.open = open
	c.mu.Unlock()
	c.changed.Broadcast()
}

// attend takes up the present image of a process.
func (c *Creations) attend(from *creator) error {
	image, err := from.source.Image()
	if err != nil {
		return err
	}
	c.mu.Lock()
	from.image = image
	c.mu.Unlock()
	from.space = c.profile.Space(from.source.PID, image.Executable(), image)
	return nil
}

// next waits for a creation; nil after the end, when none is left.
func (c *Creations) next() *creation {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.ready) == 0 {
		if !c.open {
			return nil
		}
		c.changed.Wait()
	}
	n := c.ready[0]
	c.ready = c.ready[1:]
	return n
}

// count unwinds a creation and gives its copy back.
func (c *Creations) count(n *creation) {
	from := n.from
	if old, space := from.image, from.space; old.Stale() && c.attend(from) == nil {
		space.Retire()
		old.Close()
	}
	var end unwind.End
	from.levels, end = from.image.Unwind(&n.snap, from.levels[:0])
	if ranOut(end) {
		from.image.Refresh()
		from.levels, _ = from.image.Unwind(&n.snap, from.levels[:0])
	}
	stack := from.space.Stack(from.levels)
	from.space.Add(from.space.Cell(c.thread(n), stack), profile.Values{Samples: 1})
	c.mu.Lock()
	c.free = append(c.free, n)
	c.mu.Unlock()
	c.changed.Broadcast()
}

// thread returns the entry of the creator, whose name is read when it first
// creates.
func (c *Creations) thread(n *creation) profile.ThreadID {
	id, ok := n.from.names[n.tid]
	if !ok {
		name := ""
		if t, err := n.from.source.Thread(n.tid); err == nil {
			name, _ = t.Comm() // a creator that has ended by now has no name
			t.Close()
		}
		id = c.profile.Thread(n.from.source.PID, n.tid, name)
		n.from.names[n.tid] = id
	}
	return id
}

// Created returns how many creations there have been since Run began. It may be called from
// any goroutine, at any time.
func (c *Creations) Created() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.created
}

// Profile returns what has been counted, after Run.
func (c *Creations) Profile() *profile.Profile { return c.profile }
