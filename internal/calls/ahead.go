package calls

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"ptools/internal/elfsym"
	"ptools/pctl/handle"
)

// A uprobe is at a place of a file, wherever that is mapped. So functions of a file that the process maps later can have probes before, and none of
// their calls is missed. Such a file has to be named by its path.

// An object is a file with functions that are looked for.
type object struct {
	handle.Object
	ahead bool // it is not mapped yet: the path is all that is known of where it will be
}

// path returns the path of the one object that the pattern means, if it names it by that.
func (p *Pattern) path() (name string, ok bool) {
	return p.object, path.IsAbs(p.object) && !strings.ContainsAny(p.object, "*?")
}

// openNamed opens the files that patterns name by their paths. They may be mapped by another name.
func (p *Process) openNamed(patterns []Pattern) error {
	p.named = nil
	for i := range patterns {
		name, ok := patterns[i].path()
		if !ok {
			continue
		}
		file, text, err := p.space.OpenFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // it may be mapped nevertheless
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		text.Close()
		p.named = append(p.named, namedFile{i, name, file})
	}
	return nil
}

// namedFile is a file that a pattern, by its number, names by its path.
type namedFile struct {
	pattern int
	path    string
	file    *elfsym.File
}

// others returns which patterns name a file by its path, without those that are known to mean it.
func (s *Selection) others(named []namedFile, file *elfsym.File, known []int) (all []int) {
	for _, n := range named {
		if n.file == file && !s.searched[file] && !slices.Contains(known, n.pattern) {
			all = append(all, n.pattern)
		}
	}
	return all
}

// openAhead opens the text of a file that is not mapped.
func (o *object) openAhead(w *Watch) (*os.File, error) {
	if w.spec.Planter != nil {
		return nil, errors.New("it is not mapped yet, which takes uprobes")
	}
	if !w.kernel.Exchanges() {
		return nil, errors.New("it is not mapped yet, which takes Linux 6.6")
	}
	file, text, err := w.space.OpenFile(o.Path)
	if err == nil && file != o.File {
		text.Close()
		return nil, errChanged
	}
	return text, err
}

// farAway is the bias of the first file that is not mapped, and farApart what is between one and the next: no address of a process is there.
const (
	farAway  = 1 << 63
	farApart = 1 << 44
)

// Ahead returns the function of a file that was not mapped, at an address that its bias gives it. The frame has the file's own addresses.
func (s *Selection) Ahead(pc uint64) (Frame, bool) {
	if pc < farAway {
		return Frame{}, false
	}
	i := slices.IndexFunc(s.objects, func(o object) bool { return o.ahead && o.Bias == pc&^(farApart-1) })
	if i < 0 {
		return Frame{}, false
	}
	for j := range s.Targets[s.first[i]:s.first[i+1]] {
		t := &s.Targets[s.first[i]+j]
		if pc < t.entry || pc-t.entry >= max(t.End-t.Start, 1) {
			continue
		}
		f := Frame{PC: pc - s.objects[i].Bias, Func: t.Name, Raw: t.Raw, Entry: t.Start, Offset: pc - t.entry, Object: t.Object, BuildID: s.objects[i].BuildID}
		if lines := t.file.Lines(pc-s.objects[i].Bias, nil); len(lines) > 0 {
			f.File, f.Line = lines[len(lines)-1].File, lines[len(lines)-1].Line
		}
		return f, true
	}
	return Frame{}, false
}

// innermost returns the frame of the function of a call, whose file may have been mapped for that call only.
func (t *Target) innermost(s *Selection, pc uint64) (Frame, bool) {
	const page = 1<<12 - 1
	for _, p := range append([]Place{t.Plan.Entry}, t.Plan.Returns...) {
		if p.Addr&page == pc&page {
			f, ok := s.Ahead(t.entry + p.Addr - t.Start)
			f.PC, f.Entry = pc, pc-f.Offset
			return f, ok
		}
	}
	return Frame{}, false
}

// leastLook is the least time between two looks at what is mapped, and lookShare how many times as long as a look.
const (
	leastLook = 100 * time.Millisecond
	lookShare = 50
)

// Look notices what the process has mapped since the last look, so that it has names, and returns the paths of objects with functions that the
// patterns name. Their calls are not counted, nor are those of objects that were loaded and unloaded between two looks: missed says that there may have
// been such calls. It is to be called several times a second, and does not look each time.
func (s *Selection) Look() (later []string, missed bool) {
	began := time.Now()
	if began.Before(s.nextLook) {
		return nil, false
	}
	defer func() { s.nextLook = time.Now().Add(max(leastLook, lookShare*time.Since(began))) }()
	changes := s.loads.count()
	if !s.image.Current() {
		return nil, s.loads.missed(changes, nil)
	}
	if s.space.Refresh() != nil {
		return nil, false
	}
	missed = s.loads.missed(changes, s.whereMapped())
	for _, o := range s.space.Objects() {
		wanted := s.wants(&o)
		if len(wanted) == 0 {
			continue
		}
		s.searched[o.File] = true
		matches := s.matcher(o.File, wanted)
		elfsym.Functions(o.File, func(f elfsym.Sym) bool {
			if isCold(f.Raw) || len(matches(&f)) == 0 {
				return true
			}
			later = append(later, o.Path)
			return false
		})
	}
	return later, missed
}
