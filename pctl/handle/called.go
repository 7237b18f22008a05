package handle

import (
	"path"
	"slices"
	"strings"

	"ptools/internal/glob"
	"ptools/internal/procfs"
)

// Named returns the objects with a name, the main program first, then by address. The name is an object's path, its file name
// ("libc.so.6"), that up to .so, before it, or up to a later dot ("libc.so", "libc"), or "a.out" for the main program. Only if there are none,
// names that cannot be seen in the map count: what a library calls itself (its DT_SONAME, "libz.so.1" of libz.so.1.2.13), and by which name the
// main program was executed (a link's, "redis-server" of redis-check-rdb). Then all objects are opened, else those that are returned. All objects have the
// empty name. In a name * is any text and ? any character.
func (s *Space) Named(name string) []Object {
	state := s.now.Load()
	found := state.called(func(o *object, isMain bool) bool {
		return name == "" || isMain && glob.Match(name, "a.out") || hasName(o.names(), name)
	})
	if len(found) == 0 {
		found = state.called(func(o *object, isMain bool) bool { return hasName(s.hiddenNames(o, isMain), name) })
	}
	var list []Object
	for _, o := range found {
		list = append(list, s.object(o))
	}
	return list
}

// hasName reports whether one of some names is the one that is meant.
func hasName(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return n == name || glob.Match(name, n) })
}

// Names returns all names of an object by which Named finds it.
func (s *Space) Names(of *Object) []string {
	state := s.now.Load()
	r := state.find(of.Start)
	if r == nil || r.object == nil || r.object.path != of.Path {
		return FileNames(of.Path)
	}
	isMain := r.object == state.main()
	names := append(r.object.names(), s.hiddenNames(r.object, isMain)...)
	if isMain {
		names = append(names, "a.out")
	}
	return names
}

// called returns the objects that are called something, the main program first.
func (s *mapState) called(something func(o *object, isMain bool) bool) (list []*object) {
	main := s.main()
	for _, o := range s.objects {
		switch isMain := o == main; {
		case !something(o, isMain):
		case isMain:
			list = slices.Insert(list, 0, o)
		default:
			list = append(list, o)
		}
	}
	return list
}

// names are those that can be seen in the map. The kernel's own object also has the name that the run-time linker uses for it.
func (o *object) names() []string {
	if o.id.special == vdsoName {
		return append(FileNames(vdsoLinkName), vdsoName)
	}
	return FileNames(o.path)
}

// hiddenNames are those that cannot be seen in the map.
func (s *Space) hiddenNames(o *object, isMain bool) (names []string) {
	if l, _ := s.load(o); l.file != nil {
		if soname := l.file.Soname(); soname != "" {
			names = FileNames(soname)
		}
	}
	if executed := s.executed(); isMain && executed != "" {
		names = append(names, FileNames(executed)...)
	}
	return names
}

// FileNames returns the names that an object has by its file's path: that, its last element, and this up to and before .so, and up to each later dot.
func FileNames(file string) []string {
	base := path.Base(file)
	names := []string{file, base}
	stem, version, ok := strings.Cut(base, ".so")
	if ok {
		names = append(names, stem, stem+".so")
	}
	for i := range version {
		if version[i] == '.' && i > 0 {
			names = append(names, stem+".so"+version[:i])
		}
	}
	return names
}

// mostPath is PATH_MAX of Linux.
const mostPath = 4096

// executed returns the path by which the main program was executed, as it is on the stack of the process: the program can change
// that, and only itself. It is empty if it cannot be read.
func (s *Space) executed() string {
	at := s.Auxv()[procfs.AuxExecFn]
	m, err := s.memory()
	if at == 0 || err != nil {
		return ""
	}
	b := make([]byte, mostPath)
	n, _ := m.ReadAt(b, int64(at)) // the stack ends soon
	text, _, ok := strings.Cut(string(b[:max(n, 0)]), "\x00")
	if !ok {
		return ""
	}
	return text
}
