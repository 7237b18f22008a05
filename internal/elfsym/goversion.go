package elfsym

import (
	"bytes"
	"encoding/binary"
)

// maxGoVersion bounds the text of a version.
const maxGoVersion = 256

// Version returns the version of Go that the program was built with, as its build information has it: go1.26.1. It is empty for
// a program without, and before Go 1.18.
func (g *GoTable) Version() string {
	const magic, align, head, inline = "\xff Go buildinf:", 16, 32, 2
	for _, v := range g.file.buildInfo() {
		found := ""
		v.find([]byte(magic), func(off uint64, _ []byte, p int) bool {
			at := off + uint64(p)
			b := v.upTo(at, head+binary.MaxVarintLen32+maxGoVersion)
			if at%align != 0 || len(b) < head || b[len(magic)+1]&inline == 0 {
				return true
			}
			n, used := binary.Uvarint(b[head:])
			if text := b[head+max(used, 0):]; used > 0 && n <= maxGoVersion && n <= uint64(len(text)) && bytes.HasPrefix(text, []byte("go")) {
				found = string(text[:n])
			}
			return false
		})
		if found != "" {
			return found
		}
	}
	return ""
}

// buildInfo returns where build information may be: its section, or the beginnings of segments.
func (f *image) buildInfo() (places []view) {
	if s := f.section(".go.buildinfo"); s != nil && !s.compressed() {
		return []view{s.view(f.file)}
	}
	for _, s := range f.segments {
		places = append(places, f.file.sub(s.Off, min(s.Filesz, 64<<10)))
	}
	return places
}
