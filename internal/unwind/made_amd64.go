package unwind

// generated returns the way out of code made at run time. It is remembered for madeTrust stacks.
func (l *planner) generated(p *place) *madeRoute {
	key := p.pc << 1
	if p.ret {
		key |= 1
	}
	set := l.made.set(key)
	for i := range set {
		if c := &set[i]; c.key == key && l.stacks-c.since <= madeTrust {
			return c
		}
	}
	set = l.made.room(key, madeSetsLg)
	oldest := 0
	for i := range set {
		if c := &set[i]; c.key == key || c.since < set[oldest].since && set[oldest].key != key {
			oldest = i
		}
	}
	set[oldest] = madeRoute{key: key, since: l.stacks, out: l.walkOut(&p.m, p.pc, p.m.End)}
	return &set[oldest]
}

// replaced reads the code at p again if the remembered way out has led nowhere: there may be other
// code now, or there may have been none yet. It reports whether there is another way out.
func (l *planner) replaced(p *place) bool {
	c := l.generated(p)
	if l.stacks-c.since < madeDoubt {
		return false
	}
	before := c.out
	c.since, c.out = l.stacks, l.walkOut(&p.m, p.pc, p.m.End)
	return c.out != before
}
