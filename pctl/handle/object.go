package handle

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"slices"

	"ptools/internal/elfsym"
	"ptools/internal/patience"
	"ptools/internal/procfs"
)

// An Object is one executable or library, mapped at one place. Path is that
// of the file as the process sees it, "[vdso]" for the kernel's own object.
type Object struct {
	Path, Name string // Name is the last element of Path
	Start, End uint64 // from its first mapping to its last
	Bias       uint64 // run-time minus link-time address
	BuildID    string // lower-case hexadecimal; empty without one
	File       *elfsym.File
	Lack       error // why it could not be opened, if descriptors or memory were lacking; File is nil then
}

// A Symbol is a symbol at its run-time address.
type Symbol struct {
	Name       string
	Addr, Size uint64
	Object     Object
	Kind       elfsym.Kind
}

// OpenFile opens an object by an absolute path, as the process sees it, whether or not it is mapped. The second is the
// same file, to be closed by the caller.
func (s *Space) OpenFile(path string) (*elfsym.File, *os.File, error) {
	type opened struct {
		object *elfsym.File
		file   *os.File
	}
	o, err := patience.Do(func() (o opened, err error) {
		root := s.source.held()
		if root == nil {
			return o, os.ErrClosed
		}
		if o.file, err = root.Open(path); err != nil {
			return o, err
		}
		if o.object, err = s.openSame(root, path, o.file); err != nil {
			o.file.Close()
		}
		return o, err
	}, func(o opened) { o.file.Close() }) // the cache has the object
	return o.object, o.file, err
}

var errReplaced = errors.New("it was replaced meanwhile")

// openSame opens the object that is open as a file.
func (s *Space) openSame(root *procfs.Root, path string, file *os.File) (*elfsym.File, error) {
	again, err := root.Open(path)
	if err != nil {
		return nil, err
	}
	a, err := file.Stat()
	b, another := again.Stat()
	if err = errors.Join(err, another); err == nil && !os.SameFile(a, b) {
		err = errReplaced
	}
	if err != nil {
		again.Close()
		return nil, err
	}
	return s.files.Open(again, path, s.source)
}

// Objects returns the objects that have executable memory, by address. It opens
// those that are not open yet. File is nil for an object that is not ELF or
// cannot be read.
func (s *Space) Objects() []Object {
	state := s.now.Load()
	list := make([]Object, len(state.objects))
	for i, o := range state.objects {
		list[i] = s.object(o)
	}
	return list
}

// Mapped is Objects without opening anything. Only Path, Name, Start and End are
// set, which is enough to see which objects were loaded or unloaded.
func (s *Space) Mapped() []Object {
	state := s.now.Load()
	list := make([]Object, len(state.objects))
	for i, o := range state.objects {
		list[i] = o.mapped()
	}
	return list
}

// Object returns the object that contains an address, of code or data, mapped
// from its file.
func (s *Space) Object(addr uint64) (Object, bool) { return s.Now().Object(addr) }

// Object is Space.Object.
func (t Then) Object(addr uint64) (Object, bool) {
	r, s := t.state.find(addr), t.space
	if r == nil || r.object == nil {
		return Object{}, false
	}
	if r.isMoved() {
		if l, _ := s.load(r.object); !s.holds(r, l, addr) {
			return Object{}, false
		}
	}
	return s.object(r.object), true
}

// Data is Object for an address of data. The address may also be in memory behind the object's file,
// where its zero-initialized variables are.
func (s *Space) Data(addr uint64) (Object, bool) {
	if o, ok := s.Object(addr); ok {
		return o, true
	}
	state := s.now.Load()
	i := slices.IndexFunc(state.objects, func(o *object) bool { return o.mapped().End > addr })
	if i < 0 {
		i = len(state.objects)
	}
	if i == 0 {
		return Object{}, false
	}
	o := s.object(state.objects[i-1])
	if o.File == nil {
		return Object{}, false
	}
	for _, seg := range o.File.Segments() {
		if at := addr - o.Bias; at >= seg.Vaddr && at < seg.Vaddr+seg.Memsz {
			return o, true
		}
	}
	return Object{}, false
}

// Segment returns the mapping that contains an address. Memory that has the text of an object is described as the
// mapping of the file that it has replaced.
func (s *Space) Segment(addr uint64) (procfs.Map, bool) { return s.Now().Segment(addr) }

// Segment is Space.Segment.
func (t Then) Segment(addr uint64) (procfs.Map, bool) {
	r, s := t.state.find(addr), t.space
	if r == nil {
		return procfs.Map{}, false
	}
	m := r.Map
	if r.isMoved() {
		l, _ := s.load(r.object)
		if seg, base, ok := l.text(r); ok && s.holds(r, l, addr) {
			m.Start = max(m.Start, base+seg.Vaddr)
			m.Off = seg.Off + m.Start - base - seg.Vaddr
		}
	}
	return m, true
}

// main returns the object of the executed program, as opposed to libraries and
// the run-time linker. It is the object with the entry point.
func (s *mapState) main() *object {
	if r := s.find(s.entry()); r != nil && s.entry() != 0 {
		return r.object
	}
	return nil
}

func (s *Space) object(o *object) Object {
	l, err := s.load(o)
	v := o.mapped()
	v.File, v.Lack = l.file, err
	if l.file != nil {
		v.BuildID = l.file.BuildID()
		v.Bias, _ = o.bias(l)
	}
	s.missed(l)
	return v
}

func (o *object) mapped() Object {
	return Object{Path: o.path, Name: o.name, Start: o.start, End: o.end}
}

// bias is the bias of the object's code.
func (o *object) bias(l *loaded) (uint64, bool) {
	for i := range o.maps {
		if m := &o.maps[i]; m.Perm&procfs.Exec != 0 {
			return bias(l.file.Segments(), m)
		}
	}
	return bias(l.file.Segments(), &o.maps[0]) // all its code is in memory that has replaced the file's
}

// ByName returns the symbols with a name in the objects with a name, in the order
// of Named. See elfsym.File.ByName for what a symbol's name may be.
func (s *Space) ByName(object, symbol string) []Symbol {
	var found []Symbol
	for _, o := range s.Named(object) {
		if o.File == nil {
			continue
		}
		for _, sym := range o.File.ByName(symbol) {
			if !s.Holds(&o, sym.Addr+o.Bias) {
				continue
			}
			found = append(found, Symbol{Name: sym.Name, Addr: sym.Addr + o.Bias, Size: sym.Size, Object: o, Kind: sym.Kind})
		}
	}
	return found
}

// Holds reports whether the object's code is at an address, where its file says so. The process may have made other code
// there.
func (s *Space) Holds(o *Object, addr uint64) bool {
	r := s.now.Load().find(addr)
	if r == nil || !r.isMoved() || r.object.start != o.Start {
		return true
	}
	l, _ := s.load(r.object)
	return s.holds(r, l, addr)
}

// Near returns at most n names of functions that resemble symbol, the nearest first, in
// the objects with a name. It looks at all their symbols.
func (s *Space) Near(object, symbol string, n int) []string {
	best := map[string]int{}
	for _, o := range s.Named(object) {
		if o.File == nil {
			continue
		}
		o.File.Near(symbol, func(near elfsym.Near) {
			if d, ok := best[near.Name]; !ok || near.Distance < d {
				best[near.Name] = near.Distance
			}
		})
	}
	names := slices.SortedFunc(maps.Keys(best), func(a, b string) int {
		return cmp.Or(cmp.Compare(best[a], best[b]), cmp.Compare(a, b))
	})
	return names[:min(n, len(names))]
}

// Inlined returns the functions that a function was inlined into, in the objects with a name. If some of them have such a
// function, the others are not searched: theirs is another function of that name.
func (s *Space) Inlined(object, symbol string) []string {
	objects := slices.DeleteFunc(s.Named(object), func(o Object) bool { return o.File == nil })
	if has := func(o Object) bool { return len(o.File.ByName(symbol)) > 0 }; slices.ContainsFunc(objects, has) {
		objects = slices.DeleteFunc(objects, func(o Object) bool { return !has(o) })
	}
	var names []string
	for _, o := range objects {
		names = append(names, o.File.InlinedIn(symbol)...)
	}
	return names
}
