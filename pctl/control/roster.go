package control

// Generation changes whenever a thread is born or ends.
func (c *Controller) Generation() uint64 { return c.gen.Load() }

// Threads returns the numbers of the target's threads, in no particular order. The
// slice must not be changed.
func (c *Controller) Threads() []int {
	if p := c.tids.Load(); p != nil {
		return *p
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	tids := make([]int, 0, len(c.roster))
	for tid := range c.roster {
		tids = append(tids, tid)
	}
	c.tids.Store(&tids)
	return tids
}

// enlist and strike keep the roster that other goroutines may read.
func (c *Controller) enlist(tid int) {
	c.mu.Lock()
	c.roster[tid] = struct{}{}
	c.tids.Store(nil)
	c.gen.Add(1)
	c.mu.Unlock()
}

func (c *Controller) strike(tid int) {
	c.mu.Lock()
	delete(c.roster, tid)
	c.tids.Store(nil)
	c.gen.Add(1)
	c.mu.Unlock()
}
