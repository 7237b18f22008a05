package sample

import (
	"slices"
	"sync"

	"ptools/internal/elfsym"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/source"
	"ptools/internal/unwind"
	"ptools/pctl/handle"
)

// A process of a tree may have ended before anything of it could be read. The kernel's records report what it has
// mapped. So addresses of all processes of the tree are translated to one address space, in which each file has one
// place. A file is read once for all processes.

// placeBits is how much room each file has in the space of a tree.
const placeBits = 40

// treeFiles is the files that the processes of a tree have mapped. Its methods may be called from any goroutine.
type treeFiles struct {
	cache *source.Files
	how   handle.How

	mu     sync.Mutex
	byID   map[fileID]*treeFile
	placed []*treeFile // by place; place 0 is code in no file
	lost   int64       // files that could not be opened when a sample needed them
}

// fileID is the identity of a mapped file.
type fileID struct {
	major, minor uint32
	inode        uint64
	path         string // of a mapping without a file, such as the vDSO
}

// treeFile is one file.
type treeFile struct {
	place  uint64
	path   string
	opened *handle.Mapped // nil: not needed yet
}

func newTreeFiles(cache *source.Files, lines bool) *treeFiles {
	f := &treeFiles{cache: cache, byID: make(map[fileID]*treeFile), placed: make([]*treeFile, 1)}
	if lines {
		f.how = handle.Lines
	}
	return f
}

// of returns the file of a mapping, nil for code in no file.
func (f *treeFiles) of(m *procfs.Map) *treeFile {
	id := fileID{major: m.Major, minor: m.Minor, inode: m.Inode}
	if m.Inode == 0 {
		if m.Path != "[vdso]" {
			return nil
		}
		id.path = m.Path
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	file := f.byID[id]
	if file == nil {
		file = &treeFile{place: uint64(len(f.placed)), path: m.Path}
		f.byID[id] = file
		f.placed = append(f.placed, file)
	}
	return file
}

// open opens the file of a mapping that any of pids has. The vDSO is in no file: if no process could show it,
// the next call tries again.
func (f *treeFiles) open(file *treeFile, m *procfs.Map, pids ...int) *handle.Mapped {
	if file.opened == nil || m.Inode == 0 && file.opened.File() == nil {
		opened := handle.OpenMapped(*m, f.cache, pids...)
		f.mu.Lock()
		if file.opened == nil && opened.File() == nil && m.Inode != 0 {
			f.lost++
		}
		file.opened = opened
		f.mu.Unlock()
	}
	return file.opened
}

// at returns the file at an address of the space, and the opened file. It returns nil for code in no file.
func (f *treeFiles) at(addr uint64) (*treeFile, *handle.Mapped) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := addr >> placeBits
	if i == 0 || i >= uint64(len(f.placed)) {
		return nil, nil
	}
	return f.placed[i], f.placed[i].opened
}

// symbolize looks up an address of the space.
func (f *treeFiles) symbolize(a profile.Addr, dst []handle.Frame) ([]handle.Frame, *treeFile, *handle.Mapped) {
	file, opened := f.at(a.PC)
	if opened == nil {
		return dst, file, nil
	}
	return opened.Symbolize(a.PC&(1<<placeBits-1), f.how|source.HowOf(a), dst), file, opened
}

// Prepare looks up the names of an address; the files remember them.
func (f *treeFiles) Prepare(a profile.Addr) {
	var buf [8]handle.Frame
	f.symbolize(a, buf[:0])
}

// Resolve implements profile.Resolver.
func (f *treeFiles) Resolve(a profile.Addr, dst []profile.Frame) ([]profile.Frame, profile.Mapping) {
	var buf [8]handle.Frame
	frames, file, opened := f.symbolize(a, buf[:0])
	if file == nil {
		return dst, profile.Mapping{}
	}
	base := file.place << placeBits
	m := profile.Mapping{Start: base, Limit: base + 1<<placeBits, Path: file.path}
	var elf *elfsym.File
	if opened != nil {
		elf = opened.File()
	}
	if elf == nil {
		return append(dst, profile.Frame{Object: file.path, Place: handle.PlaceIn(file.path, placed(a))}), m
	}
	m.BuildID = elf.BuildID()
	m.Start, m.Limit, m.Offset = segmentAt(base, elf.Segments(), placed(a))
	for _, r := range frames {
		g := source.FrameOf(&r)
		if r.Func == "" {
			g.Place = handle.PlaceAt(opened.Table(), placed(a), file.path)
		}
		dst = append(dst, g)
	}
	return dst, m
}

// segmentAt returns the segment at an address, in whole pages, and its offset in the file. base is the place of the file.
func segmentAt(base uint64, segments []elfsym.Segment, addr uint64) (start, limit, off uint64) {
	const page = 0xfff
	for _, s := range segments {
		if addr >= s.Vaddr && addr < s.Vaddr+s.Memsz {
			return base + s.Vaddr&^page, base + (s.Vaddr+s.Memsz+page)&^page, s.Off &^ page
		}
	}
	return base, base + 1<<placeBits, 0
}

// placed returns the address of the code of a level in the tree's space, as its file counts addresses.
func placed(a profile.Addr) uint64 { return source.LookedUp(a) & (1<<placeBits - 1) }

// codeMap is the executable memory of one process, by address.
type codeMap struct {
	maps   []codeRange
	shared bool // shared with another process, until either maps something
	former bool // other code was at addresses of one of them
}

// codeRange is one mapping.
type codeRange struct {
	procfs.Map
	code  *unwind.Mapping // nil: not needed yet
	moved bool            // memory that has replaced the file's, and may have its text: Map is that of the file
}

// copyOf returns the map of a forked child.
func (c *codeMap) copyOf() codeMap {
	c.shared = true
	return *c
}

// clear forgets all mappings, at an exec.
func (c *codeMap) clear() { *c = codeMap{} }

// add adds a mapping. It replaces earlier ones at its addresses.
func (c *codeMap) add(m procfs.Map) {
	if c.shared {
		c.maps, c.shared = slices.Clone(c.maps), false
	}
	r := codeRange{Map: m}
	if i := c.find(m.Start); i >= 0 && m.Inode == 0 && c.maps[i].Inode != 0 && m.End <= c.maps[i].End {
		r = codeRange{Map: trimmed(c.maps[i].Map, m.Start, m.End), moved: true}
	}
	from, _ := slices.BinarySearchFunc(c.maps, m.Start, endsBefore)
	to := from
	for to < len(c.maps) && c.maps[to].Start < m.End {
		was := &c.maps[to].Map
		c.former = c.former || was.Inode != m.Inode || m.Inode != 0 && was.Start-was.Off != m.Start-m.Off
		to++
	}
	if to-from == 1 && c.maps[from].Start < m.Start && c.maps[from].End > m.End { // a hole in one
		rest := c.maps[from]
		c.cut(from, rest.Start, m.Start)
		c.maps = slices.Insert(c.maps, from+1, rest)
		c.cut(from+1, m.End, rest.End)
		from, to = from+1, from+1
	}
	if from < to && c.maps[from].Start < m.Start {
		c.cut(from, c.maps[from].Start, m.Start)
		from++
	}
	if from < to && c.maps[to-1].End > m.End {
		c.cut(to-1, m.End, c.maps[to-1].End)
		to--
	}
	c.maps = slices.Replace(c.maps, from, to, r)
}

// endsBefore orders mappings by their ends.
func endsBefore(r codeRange, at uint64) int {
	if r.End <= at {
		return -1
	}
	return 1
}

func (c *codeMap) cut(i int, start, end uint64) {
	c.maps[i] = codeRange{Map: trimmed(c.maps[i].Map, start, end), moved: c.maps[i].moved}
}

// trimmed returns the part of a mapping from start to end.
func trimmed(m procfs.Map, start, end uint64) procfs.Map {
	m.Off += start - m.Start
	m.Start, m.End = start, end
	return m
}

// find returns the index of the mapping that has an address, or -1.
func (c *codeMap) find(addr uint64) int {
	i, _ := slices.BinarySearchFunc(c.maps, addr, endsBefore)
	if i < len(c.maps) && c.maps[i].Start <= addr {
		return i
	}
	return -1
}
