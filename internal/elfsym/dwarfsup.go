package elfsym

import (
	"bytes"
	"encoding/hex"
	"path/filepath"

	"ptools/internal/cursor"
)

// A supLink names the supplementary file, which has what dwz has moved out of several files.
type supLink struct {
	path string
	id   string // its build id (.gnu_debugaltlink) or checksum (.debug_sup), hexadecimal
	sup  bool   // it is a link of DWARF 5, .debug_sup
}

// supLink returns the file's link to its supplementary file.
func (f *image) supLink() (l supLink, ok bool) {
	const longest = 8 << 10
	if s := f.section(".gnu_debugaltlink"); s != nil {
		name, id, ok := bytes.Cut(s.view(f.file).upTo(0, longest), []byte{0})
		return supLink{path: string(name), id: hex.EncodeToString(id)}, ok && len(name) > 0
	}
	l, supplementary := f.debugSup()
	return l, l.path != "" && !supplementary
}

// debugSup reads .debug_sup (DWARF 5, 7.3.6).
func (f *image) debugSup() (l supLink, supplementary bool) {
	s := f.section(".debug_sup")
	if s == nil {
		return supLink{}, false
	}
	c := cursor.Cursor{B: s.view(f.file).upTo(0, 8<<10)}
	c.Skip(2)
	supplementary = c.U8() != 0
	l = supLink{path: c.CString(4 << 10), sup: true}
	l.id = hex.EncodeToString(c.Bytes(c.Uleb()))
	if c.Bad {
		return supLink{}, false
	}
	return l, supplementary
}

// names reports whether o is the file that l refers to.
func (l *supLink) names(o *File) bool {
	if l.sup {
		own, supplementary := o.debugSup()
		return supplementary && own.id == l.id
	}
	return o.BuildID() == l.id
}

// supplement returns the debug sections of the supplementary file, nil without one. It looks where the link says, and by
// build id.
func (d *dwarfFile) supplement() *dwarfFile {
	return d.sup.get(func() *dwarfFile {
		l, ok := d.in.supLink()
		if !ok || d.f.src == nil {
			return nil
		}
		path := l.path
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(d.in.path), path)
		}
		paths := []string{filepath.Clean(path)}
		if !l.sup && len(l.id) > 2 {
			paths = append(paths, debugRoot+"/.build-id/"+l.id[:2]+"/"+l.id[2:]+".debug")
		}
		var o *File
		if !l.sup {
			o = fetchedDebug(d.f, l.id)
		}
		if o == nil {
			o = d.openFirst(paths, l.names)
		}
		if o == nil {
			return nil
		}
		s := sectionsOf(o)
		return &dwarfFile{f: d.f, in: o, dwarfSections: s}
	})
}

// openFirst opens the first of some files that belongs to d. If there is none, it notes that the first is missing.
func (d *dwarfFile) openFirst(paths []string, belongs func(*File) bool) *File {
	var first error
	for _, path := range paths {
		if d.f.missing.hung() {
			return nil
		}
		o, err := d.f.openOther(path, belongs)
		if err == nil {
			return o
		}
		if first == nil {
			first = err
		}
		d.f.missing.wait(err)
	}
	d.f.missing.note(first)
	return nil
}
