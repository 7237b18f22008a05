package profile

import (
	"cmp"
	"slices"
	"strings"
)

// Unnamed is the processor time of a process in code whose function is not known.
type Unnamed struct {
	PID     int
	Program string
	Object  string // path of the file that has most of it; "" for memory that is in no file, as of a compiler at run time
	CPU     int64  // of the process, ns
	Unnamed int64  // the part of CPU in such code
	Python  bool   // stacks have functions of the Python that CPython reports (python3 -X perf)
}

// UnnamedOf returns the processor time in code without names of each process, the one with most of it first. What names do
// not exist for, system calls and the kernel, counts for the function that called them.
func UnnamedOf(p *Profile) []Unnamed {
	programs, all := make(map[int]string), make(map[int]*Unnamed)
	for _, pr := range programsOf(p) {
		programs[pr.pid] = pr.name()
	}
	for _, q := range p.processes {
		programs[q.PID] = q.Command
	}
	objects := make(map[int]map[string]int64)
	for _, s := range p.finish() {
		var path []*location
		for _, c := range s.ordered() {
			pid := p.threads[c.thread].pid
			u := all[pid]
			if u == nil {
				u = &Unnamed{PID: pid, Program: programs[pid]}
				all[pid], objects[pid] = u, make(map[string]int64)
			}
			u.CPU += c.CPU
			path = s.path(c.stack, path[:0])
			u.Python = u.Python || slices.ContainsFunc(path, func(l *location) bool { return isPython(s, l) })
			i := slices.IndexFunc(path, func(l *location) bool { return l.addr.Kind != note })
			if i < 0 || len(p.named(path[i])) > 0 || c.CPU == 0 {
				continue
			}
			u.Unnamed += c.CPU
			object := ""
			if path[i].mapping >= 0 {
				object = s.mappings[path[i].mapping].Path
			}
			if isMemory(object) {
				object = ""
			}
			objects[pid][object] += c.CPU
		}
	}
	list := make([]Unnamed, 0, len(all))
	for pid, u := range all {
		most := int64(0)
		for object, cpu := range objects[pid] {
			if cpu > most || cpu == most && object < u.Object {
				u.Object, most = object, cpu
			}
		}
		list = append(list, *u)
	}
	slices.SortFunc(list, func(a, b Unnamed) int {
		return cmp.Or(cmp.Compare(b.Unnamed, a.Unnamed), cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.PID, b.PID))
	})
	return list
}

// isMemory reports whether the kernel names memory so that is in no file of a file system: memfd_create's, as of Erlang's and
// .NET's compilers, System V's, and what is shared without a name.
func isMemory(path string) bool {
	return slices.ContainsFunc([]string{"/memfd:", "/SYSV", "/dev/zero"}, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

// isPython reports whether a location is a function of Python, as CPython names its trampolines.
func isPython(s *Space, l *location) bool {
	return slices.ContainsFunc(l.lines, func(n line) bool { return strings.HasPrefix(s.profile.functions[n.fn].name, "py::") })
}
