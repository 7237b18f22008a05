package elfsym

import (
	"debug/elf"
	"encoding/hex"
)

const (
	maxNotes    = 1 << 20 // bytes of one note segment that are looked at
	maxAllNotes = 4 << 20 // bytes of all of them: any number may be over the same bytes
	noteBuildID = 3       // NT_GNU_BUILD_ID
	noteGoID    = 4       // the Go linker's own build id
)

// BuildID returns the GNU build id in lower-case hexadecimal, empty if the
// file has none.
func (f *File) BuildID() string {
	return f.buildID.get(func() string {
		return hex.EncodeToString(f.note("GNU\x00", noteBuildID))
	})
}

// note returns the description of the first note of that name and type. It
// reads the note segments, or the sections if there are no segments.
func (f *image) note(name string, kind uint32) []byte {
	left := uint64(maxAllNotes)
	look := func(v view, size uint64) []byte {
		b := v.upTo(0, min(size, maxNotes, left))
		left -= uint64(len(b))
		return findNote(b, name, kind)
	}
	for _, p := range f.hdr.progs {
		if p.kind == elf.PT_NOTE {
			if d := look(f.file.sub(p.Off, p.Filesz), p.Filesz); d != nil {
				return d
			}
		}
	}
	for i := range f.hdr.sections {
		s := &f.hdr.sections[i]
		if s.kind == elf.SHT_NOTE {
			if d := look(s.view(f.file), maxNotes); d != nil {
				return d
			}
		}
	}
	return nil
}

// findNote walks notes. Their parts are aligned to 4 bytes; only those of
// .note.gnu.property are aligned to 8, and a segment holds one alignment.
func findNote(b []byte, name string, kind uint32) []byte {
	for len(b) >= 12 {
		namesz, descsz, typ := le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:])
		b = b[12:]
		nameEnd := (uint64(namesz) + 3) &^ 3
		descEnd := nameEnd + (uint64(descsz)+3)&^3
		if nameEnd+uint64(descsz) > uint64(len(b)) {
			return nil
		}
		if typ == kind && string(b[:namesz]) == name && descsz > 0 && descsz <= 64<<10 {
			return b[nameEnd : nameEnd+uint64(descsz)]
		}
		b = b[min(descEnd, uint64(len(b))):]
	}
	return nil
}
