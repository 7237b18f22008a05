package calls

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"ptools/internal/elfsym"
	"ptools/internal/mem"
	"ptools/internal/procfs"
	"ptools/pctl/handle"
)

// A Process is a running process whose functions are looked for. Its present program is meant.
type Process struct {
	PID    int
	own    *elfsym.Cache // nil: the files are shared
	space  *handle.Space
	memory *mem.Patient
	image  *procfs.Image
	main   string      // path of the program
	named  []namedFile // what patterns name by its path, of the last Select
}

// cachedFiles is how many files are kept open.
const cachedFiles = 64

// OpenProcess reads what is mapped in a process. It stops nothing. Functions are found by decoding instructions of x86-64: on
// another processor the error satisfies errors.ErrUnsupported.
func OpenProcess(pid int) (*Process, error) {
	files := elfsym.NewCache(cachedFiles)
	p, err := OpenShared(pid, files)
	if err != nil {
		files.Close()
		return nil, err
	}
	p.own = files
	return p, nil
}

// ErrThread is the error for the number of a thread.
var ErrThread = errors.New("not a process but a thread")

// OpenShared is OpenProcess with files that others use, too. They stay open.
func OpenShared(pid int, files *elfsym.Cache) (*Process, error) {
	if runtime.GOARCH != "amd64" {
		return nil, fmt.Errorf("calls cannot be counted on %s yet: %w", runtime.GOARCH, errors.ErrUnsupported)
	}
	if err := procfs.CheckOwn(); err != nil {
		return nil, fmt.Errorf("%w (mount that of our own: mount -t proc proc /proc, or unshare --mount-proc)", err)
	}
	if status, err := procfs.ReadStatus(pid); err == nil && status.Tgid != pid {
		return nil, ErrThread
	}
	p := &Process{PID: pid}
	var err error
	if p.space, err = handle.NewSpace(pid, files); err == nil {
		p.memory, err = mem.OpenPatient(pid)
	}
	if err == nil {
		p.image, err = procfs.OpenImage(pid)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	if main := p.space.Named("a.out"); len(main) > 0 {
		p.main = main[0].Path
	}
	return p, nil
}

// Close gives back what was opened.
func (p *Process) Close() {
	if p.image != nil {
		p.image.Close()
	}
	if p.memory != nil {
		p.memory.Close()
	}
	if p.space != nil {
		p.space.Close()
	}
	if p.own != nil {
		p.own.Close()
	}
}

// Select looks for the functions that any of some patterns names. With arguments, the arguments of their calls are to be known; a
// condition takes that too.
func (p *Process) Select(patterns []Pattern, arguments bool) (*Selection, error) {
	s := &Selection{PID: p.PID, main: p.main, memory: p.memory, space: p.space, image: p.image, hits: make([]int, len(patterns)),
		patterns: patterns, lines: map[int][]*lineFound{}, searched: map[*elfsym.File]bool{}}
	for i := range patterns {
		arguments = arguments || patterns[i].Condition != nil
	}
	if err := p.openNamed(patterns); err != nil {
		return nil, err
	}
	mapped := map[int]bool{} // patterns that name an object that is
	for _, o := range p.space.Objects() {
		wanted := s.wants(&o)
		for _, i := range wanted {
			mapped[i] = true
		}
		s.add(&object{Object: o}, append(wanted, s.others(p.named, o.File, wanted)...), arguments)
	}
	for _, n := range p.named {
		if !mapped[n.pattern] {
			o := handle.Object{Path: n.path, File: n.file, Bias: farAway + uint64(len(s.objects))*farApart, BuildID: n.file.BuildID()}
			s.add(&object{o, true}, s.others(p.named, n.file, nil), arguments)
		}
	}
	s.first = append(s.first, len(s.Targets))
	return s, p.space.Lack()
}

// wants returns the numbers of the patterns that name an object, if that has not been searched.
func (s *Selection) wants(o *handle.Object) (wanted []int) {
	if o.File == nil || s.searched[o.File] || strings.HasPrefix(o.Path, "[") {
		return nil
	}
	names := s.space.Names(o)
	for i := range s.patterns {
		if s.patterns[i].In(names) {
			wanted = append(wanted, i)
		}
	}
	return wanted
}

// Similar returns names of functions that may have been meant by a pattern that none has.
func (p *Process) Similar(pattern *Pattern) []string {
	const most = 3
	return p.space.Near("", strings.Trim(pattern.function, "*?"), most)
}

// Object returns the object that the pattern names, of several the first, and whether it tells the names of exported functions at most.
// Without a name it is the program. It returns false if no such object is mapped, and the pattern has no path of a file.
func (p *Process) Object(pattern *Pattern) (path string, stripped, ok bool) {
	for _, o := range p.space.Objects() {
		if isMain := o.Path == p.main; o.File != nil && pattern.In(p.space.Names(&o)) && (isMain || pattern.object != "") {
			return o.Path, o.File.Names() <= elfsym.NamesOfExports, true
		}
	}
	for _, n := range p.named {
		if n.path == pattern.object {
			return n.path, n.file.Names() <= elfsym.NamesOfExports, true
		}
	}
	return "", false, false
}

// Current reports whether the process still executes the program that it did when it was opened. Calls of another are not
// counted.
func (p *Process) Current() bool { return p.image.Current() }

// Alive opens a descriptor by which the end of the process is seen.
func (p *Process) Alive() (*procfs.PIDFD, error) { return procfs.OpenPIDFD(p.PID) }
