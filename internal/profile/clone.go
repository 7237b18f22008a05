package profile

import (
	"maps"
	"slices"
)

// Clone returns a copy that may be written while samples are added to this profile. It looks nothing up: code whose name
// this profile does not have yet is [not named yet] in the copy. Waits for locks are left out.
func (p *Profile) Clone() *Profile {
	c := *p
	c.processes, c.others = slices.Clone(p.processes), maps.Clone(p.others)
	c.threads, c.threadIDs = slices.Clone(p.threads), nil
	c.functions, c.funcIDs = slices.Clone(p.functions), make(map[function]uint32)
	c.notes = slices.Clone(p.notes)
	c.archives, c.marks = nil, nil
	c.waiting, c.waiters, c.unowned = nil, nil, nil
	c.spaces = make([]*Space, len(p.spaces))
	for i, s := range p.spaces {
		c.spaces[i] = &Space{
			profile: &c, pid: s.pid, main: s.main, resolver: unnamed{},
			callTree: callTree{
				places: places{locs: slices.Clone(s.locs), pending: s.pending, mappings: slices.Clone(s.mappings)},
				nodes:  slices.Clone(s.nodes),
			},
			counts: counts{cells: slices.Clone(s.cells), spans: slices.Clone(s.spans)},
		}
	}
	return &c
}

// unnamed is the Resolver of copies.
type unnamed struct{}

func (unnamed) Resolve(_ Addr, dst []Frame) ([]Frame, Mapping) {
	return append(dst, Frame{Func: "[not named yet]"}), Mapping{}
}
