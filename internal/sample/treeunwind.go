package sample

import (
	"ptools/internal/intern"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/ptrace"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// kinUnwinder unwinds the stacks of ticks in processes that are not looked at. It uses the mappings that records have
// reported, and the files. What it remembers of a file serves all processes.
type kinUnwinder struct {
	tree     *tree
	kin      *kin // of the present tick
	unwinder *unwind.Unwinder
	snap     source.Capture
	frames   []unwind.Frame
	levels   []profile.Addr
	outlying outlying
	calls    map[uint64]int64 // system calls by the address in the tree's space
	notes    map[int64]profile.Addr
}

func (u *kinUnwinder) init(t *tree) {
	u.tree, u.calls, u.notes = t, make(map[uint64]int64), make(map[int64]profile.Addr)
	u.unwinder = unwind.New(u)
	u.outlying.watch = func(tid int, pages []uint64) { t.ticks.Watch(tid, pages) }
}

// Find implements unwind.Code for the process of the present tick.
func (u *kinUnwinder) Find(pc uint64) (unwind.Mapping, bool) {
	i := u.kin.maps.find(pc)
	if i < 0 {
		return unwind.Mapping{}, false
	}
	return *u.code(u.kin, i), true
}

// code describes a mapping of a process, and opens its file.
func (u *kinUnwinder) code(k *kin, i int) *unwind.Mapping {
	r := &k.maps.maps[i]
	if r.code != nil {
		return r.code
	}
	m := &r.Map
	c := &unwind.Mapping{Start: m.Start, End: m.End, Special: unwind.Anonymous}
	if file := u.tree.files.of(m); file != nil {
		opened := u.tree.files.open(file, m, k.pid, k.ppid)
		if r.moved && !opened.SameText(k.pid, m) {
			r.Map, r.moved = procfs.Map{Start: m.Start, End: m.End, Perm: m.Perm}, false
		} else {
			*c = opened.Code(m)
		}
	}
	r.code = c
	return c
}

// place translates a level of a process to the space of the tree.
func (u *kinUnwinder) place(k *kin, a profile.Addr) profile.Addr {
	const offset = 1<<placeBits - 1
	i := k.maps.find(source.LookedUp(a))
	if i < 0 {
		return profile.Addr{PC: a.PC & offset, Kind: a.Kind}
	}
	c := u.code(k, i)
	m := &k.maps.maps[i].Map
	file := u.tree.files.of(m)
	switch {
	case file == nil:
		return profile.Addr{PC: a.PC & offset, Kind: a.Kind}
	case c.Table == nil:
		return profile.Addr{PC: file.place<<placeBits | (a.PC-m.Start+m.Off)&offset, Kind: a.Kind}
	}
	return profile.Addr{PC: file.place<<placeBits | (a.PC-c.Bias)&offset, Kind: a.Kind}
}

// Unwind implements tickImage.
func (u *kinUnwinder) Unwind(s *source.Capture, dst []profile.Addr) ([]profile.Addr, unwind.End) {
	if len(u.kin.maps.maps) == 0 {
		return append(dst, u.tree.sampler.exec), unwind.Unreadable
	}
	stack := unwind.Stack{Base: s.Base, Data: s.Stack, Chain: s.Chain}
	if s.Pages != nil {
		stack.Pages = s.Pages
	}
	frames, end := u.unwinder.Unwind(&s.Regs, stack, u.frames[:0])
	u.frames, s.Strayed, s.Needed = frames, false, u.unwinder.Needed()
	for _, f := range frames {
		dst = append(dst, u.place(u.kin, profile.Addr{PC: f.PC, Kind: profile.KindOf(f.Return, f.Signal)}))
	}
	return dst, end
}

// syscall implements tickImage.
func (u *kinUnwinder) syscall(s *source.Capture) int64 {
	i := u.kin.maps.find(s.PC)
	if i < 0 {
		return -1
	}
	at := u.place(u.kin, profile.Addr{PC: s.PC}).PC
	return intern.Value(u.calls, at, func() int64 {
		_, opened := u.tree.files.at(at)
		if opened == nil || opened.File() == nil {
			return -1
		}
		return callIn(func(code []byte) bool {
			return opened.File().ReadAddr(code, at&(1<<placeBits-1)-ptrace.SyscallCode)
		})
	})
}

// note implements tickImage.
func (u *kinUnwinder) note(nr int64) profile.Addr {
	return intern.Value(u.notes, nr, func() profile.Addr {
		return u.tree.sampler.profile.Note("[" + procfs.SyscallName(nr) + "]")
	})
}
