package handle

import (
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"ptools/internal/procfs"
	"ptools/internal/unwind"
)

// A mapState is one state of an address space's map. It never changes, except
// that some fields are filled in on first use.
type mapState struct {
	text    mapText
	regions []region // executable memory, and all memory of objects that have some, by address
	objects []*object
	auxv    procfs.Auxv // of the main program; nil if unknown
	images  map[fileID]*image
	names   atomic.Pointer[frameCache]
	former
}

// mapText tells one text of /proc/PID/maps from another, to see whether anything has changed.
type mapText struct {
	read bool
	size int
	hash uint64
}

// entry is the entry point of the main program; 0 if unknown.
func (s *mapState) entry() uint64 { return s.auxv[procfs.AuxEntry] }

// A fileID is the identity of a mapped file. The name is not part of it: a file
// that is renamed or deleted while it is mapped remains the same file.
type fileID struct {
	major, minor uint32
	inode        uint64
	special      string // name of an object that is no file, such as "[vdso]"
}

// An object is one file mapped at one place. A file that is mapped at two places
// (dlmopen) is two objects with one image.
type object struct {
	id         fileID
	path, name string
	start, end uint64
	image      *image
	maps       []procfs.Map // of the file, without memory that replaces its text
}

// A region is one mapping.
type region struct {
	procfs.Map
	object *object // nil for anonymous memory, unless it may have an object's text
	moved  moved
	era    Era

	// code is the result of Find, filled in at the first call; nil before that.
	code atomic.Pointer[unwind.Mapping]
}

// build makes a mapState from a list of mappings. It takes over the images of
// files that were mapped before, opened or not.
func build(maps []procfs.Map, old map[fileID]*image) *mapState {
	var g grouping
	for i := range maps {
		g.add(maps, i)
	}
	s := &mapState{images: map[fileID]*image{}}
	owner := make([]*object, len(maps))
	for _, p := range g.parts {
		if len(p.moved) == 0 && !slices.ContainsFunc(p.maps, func(i int) bool { return maps[i].Perm&procfs.Exec != 0 }) {
			continue
		}
		o := s.newObject(maps, p, old)
		for _, i := range append(p.moved, p.maps...) {
			owner[i] = o
			o.start, o.end = min(o.start, maps[i].Start), max(o.end, maps[i].End)
		}
	}
	n := 0
	for i := range maps {
		if owner[i] != nil || maps[i].Perm&procfs.Exec != 0 {
			n++
		}
	}
	s.regions = make([]region, 0, n)
	for i, m := range maps {
		if owner[i] != nil || m.Perm&procfs.Exec != 0 {
			s.regions = s.regions[:len(s.regions)+1]
			r := &s.regions[len(s.regions)-1]
			r.Map, r.object = m, owner[i]
		}
	}
	return s
}

func (s *mapState) newObject(maps []procfs.Map, p part, old map[fileID]*image) *object {
	im := s.images[p.id]
	if im == nil {
		if im = old[p.id]; im == nil {
			im = new(image)
		}
		s.images[p.id] = im
	}
	first := maps[p.maps[0]]
	o := &object{
		id: p.id, path: first.Path, name: path.Base(first.Path),
		start: first.Start, end: first.End, image: im,
	}
	for _, i := range p.maps {
		o.maps = append(o.maps, maps[i])
	}
	s.objects = append(s.objects, o)
	return o
}

// A part is a sequence of mappings, by index, that belong to one file at one place.
type part struct {
	id    fileID
	off   uint64 // file offset of the last one
	maps  []int
	moved []int // executable memory that may have replaced its text
}

// A grouping collects parts. The run-time linker and execve map a file's segments
// by rising address and rising offset. Other memory is between them only where the
// file leaves a hole, or where the program has replaced its text. A smaller offset begins a new part.
type grouping struct {
	parts []part
	gap   []int // other executable memory behind the last part
}

const (
	// aheadMaps is how many mappings ahead the file is looked for that a mapping may be in the middle of.
	aheadMaps = 8
	// beforeText is how far in front of the rest of its file a moved first segment may end: segments are aligned to huge
	// pages at most.
	beforeText = 2 << 20
)

func (g *grouping) add(maps []procfs.Map, i int) {
	m := &maps[i]
	var p *part
	if n := len(g.parts); n > 0 {
		p = &g.parts[n-1]
	}
	id := fileIDOf(m)
	switch {
	case id == (fileID{}) || p != nil && p.id != id && p.replacedBy(maps, i):
		if m.Perm&procfs.Exec != 0 {
			g.gap = append(g.gap, i)
		}
		return
	case p != nil && p.id == id && m.Off >= p.off:
		p.moved = append(p.moved, g.gap...)
		p.maps, p.off = append(p.maps, i), m.Off
	default:
		first := part{id: id, off: m.Off, maps: []int{i}}
		if last, ok := g.before(maps); ok && m.Off > 0 && m.Perm&procfs.Exec == 0 && m.Start-maps[last].End < beforeText {
			first.moved = []int{last} // the first segment of the file is missing
			if len(g.gap) == 0 {
				g.parts = g.parts[:len(g.parts)-1] // it is in a file that stands for memory
			}
		}
		g.parts = append(g.parts, first)
	}
	g.gap = g.gap[:0]
}

// before returns the executable memory behind the last part. A file that stands for memory and has one mapping is such
// memory, too.
func (g *grouping) before(maps []procfs.Map) (i int, ok bool) {
	if n := len(g.gap); n > 0 {
		return g.gap[n-1], true
	}
	if len(g.parts) == 0 {
		return 0, false
	}
	p := &g.parts[len(g.parts)-1]
	i = p.maps[0]
	return i, len(p.maps) == 1 && len(p.moved) == 0 && maps[i].Perm&procfs.Exec != 0 && isMemory(&maps[i])
}

// isMemory reports whether a mapping is of a file that stands for memory: of a memfd, in huge pages, shared.
func isMemory(m *procfs.Map) bool { return m.Deleted || m.Path == "/dev/zero" }

// replacedBy reports whether a mapping of another file may have text of the part, which is mapped further on, before other
// files. If the other file does not stand for memory, text must be missing: other files are mapped in holes, too.
func (p *part) replacedBy(maps []procfs.Map, i int) bool {
	m, last := &maps[i], &maps[p.maps[len(p.maps)-1]]
	if !isMemory(m) && m.Perm&procfs.Exec == 0 {
		return false
	}
	for j := i + 1; j < len(maps) && j <= i+aheadMaps; j++ {
		next := &maps[j]
		if fileIDOf(next) == p.id {
			return next.Off >= p.off && (isMemory(m) || next.Off > last.Off+last.End-last.Start)
		}
		if next.Inode != 0 && next.Perm&procfs.Exec == 0 {
			return false
		}
	}
	return false
}

// fileIDOf returns the zero fileID for anonymous memory.
func fileIDOf(m *procfs.Map) fileID {
	switch {
	case m.Inode != 0:
		return fileID{major: m.Major, minor: m.Minor, inode: m.Inode}
	case m.Path != "" && !anonymous(m.Path):
		return fileID{special: m.Path}
	}
	return fileID{}
}

// anonymous reports whether a name is one that the kernel gives to plain memory.
func anonymous(name string) bool {
	return name == "[heap]" || name == "[stack]" || strings.HasPrefix(name, "[anon")
}

// find returns the region that contains the address, or nil.
func (s *mapState) find(addr uint64) *region {
	lo, hi := 0, len(s.regions)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if s.regions[mid].End <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(s.regions) && addr >= s.regions[lo].Start {
		return &s.regions[lo]
	}
	return nil
}
