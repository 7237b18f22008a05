package main

import (
	"fmt"
	"math"
	"math/big"

	"ptools/internal/calls"
	"ptools/internal/profile"
	"ptools/pctl/handle"
)

// profileOf returns the groups of stacks, as [calls.Watch.Groups] has returned them, as a profile. The functions that were called are the
// innermost ones of its stacks. Calls without a stack are below [no stack], so it has all calls. It is an error if the sums have more than
// 64 bits, which profiles have.
func profileOf(w *calls.Watch, groups []calls.Group) (*profile.Profile, error) {
	p := profile.New()
	p.Subject = profile.Calls
	names := &called{watch: w, space: w.Space(), functions: w.Probed()}
	space := p.Space(w.PID, w.Program(), names)
	thread := p.Thread(w.PID, 0, "all threads")
	sums, functions := new(big.Int), map[*calls.Target]bool{}
	var levels []profile.Addr
	for i := range groups {
		g := &groups[i]
		if g.Calls == 0 {
			continue
		}
		functions[g.Target] = true
		levels = append(levels[:0], profile.Addr{PC: g.Entry()})
		for _, f := range g.Stack[min(1, len(g.Stack)):] {
			levels = append(levels, profile.Addr{PC: f.PC, Kind: profile.KindOf(f.Return, f.Signal)})
		}
		if g.Rest != calls.None {
			levels = append(levels, p.Note("["+string(g.Rest)+"]"))
		} else if g.Cut != "" {
			levels = append(levels, p.Note("[stack cut: "+g.Cut+"]"))
		}
		sum := g.Amount.Total()
		sums.Add(sums, new(big.Int).Abs(sum)) // so that no part of them is too large either
		space.Add(space.Cell(thread, space.Stack(levels)), profile.Values{Samples: int64(g.Calls), Wall: int64(g.Sum), Sum: sum.Int64()})
	}
	if sums.Cmp(big.NewInt(math.MaxInt64)) > 0 {
		return nil, fmt.Errorf("the sum is beyond 64 bits, which profiles have: %v", sums)
	}
	space.ResolveAll()
	p.Called.Functions, p.Called.Nested = len(functions), names.nested
	return p, nil
}

// called knows the functions of a process. Those that are counted have the names that they have there.
type called struct {
	watch     *calls.Watch
	space     *handle.Space
	functions map[uint64]*calls.Target
	frames    []calls.Frame
	nested    bool // one of them has called another, or itself
}

// Resolve implements [profile.Resolver].
func (c *called) Resolve(a profile.Addr, dst []profile.Frame) ([]profile.Frame, profile.Mapping) {
	how, pc := handle.Lines, a.PC
	switch a.Kind {
	case profile.Return:
		how, pc = how|handle.Return, pc-1
	case profile.Trampoline:
		how |= handle.Trampoline
	}
	if f, ok := c.watch.Ahead(a.PC); ok {
		return append(dst, profile.Frame{Func: f.Func, Raw: f.Raw, File: f.File, Line: f.Line, Object: f.Object}), profile.Mapping{}
	}
	if !c.space.Knows(pc) {
		return dst, profile.Mapping{}
	}
	c.frames = c.space.Symbolize(a.PC, how, c.frames[:0])
	frames := c.frames
	last := &frames[len(frames)-1]
	if t := c.functions[last.Entry]; t != nil {
		last.Func, last.Raw = t.Name, t.Raw
		c.nested = c.nested || a.Kind == profile.Return
		if a.Kind == profile.Exact && a.PC == t.Entry() {
			frames = frames[len(frames)-1:] // not what was inlined at its beginning
		}
	}
	for _, f := range frames {
		g := profile.Frame{Func: f.Func, Raw: f.Raw, File: f.File, Line: f.Line, Object: f.Object, Inlined: f.Inlined}
		if f.Func == "" && f.Object != "" {
			g.Place = c.space.PlaceOf(pc, &f)
		}
		dst = append(dst, g)
	}
	return dst, c.mapping(pc)
}

// mapping returns the mapping of the object at an address.
func (c *called) mapping(pc uint64) profile.Mapping {
	o, isObject := c.space.Object(pc)
	seg, ok := c.space.Segment(pc)
	if !isObject || !ok {
		return profile.Mapping{}
	}
	return profile.Mapping{Start: seg.Start, Limit: seg.End, Offset: seg.Off, Path: o.Path, BuildID: o.BuildID}
}
