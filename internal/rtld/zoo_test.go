package rtld

import (
	"debug/elf"
	"io"
	"path/filepath"
	"testing"
)

// fileImage is a program as it would be mapped, read from its file.
type fileImage struct{ *elf.File }

func (m fileImage) ReadAt(p []byte, addr int64) (int, error) {
	for _, s := range m.Progs {
		if off := uint64(addr) - s.Vaddr; s.Type == elf.PT_LOAD && off < s.Filesz {
			return s.ReadAt(p, int64(off))
		}
	}
	return 0, io.ErrUnexpectedEOF
}

func (m fileImage) executable(addr uint64) bool {
	for _, s := range m.Progs {
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && addr-s.Vaddr < s.Filesz {
			return true
		}
	}
	return false
}

// TestMainOfDistribution: the entry code of the distribution's programs that link with libc leads to an address in
// their text. Few programs are exceptions, which are written in other languages.
func TestMainOfDistribution(t *testing.T) {
	files, err := filepath.Glob("/usr/bin/*")
	if err != nil || len(files) == 0 {
		t.Skip("no programs in /usr/bin")
	}
	programs, found := 0, 0
	for _, name := range files {
		f, err := elf.Open(name)
		if err != nil {
			continue // a script, or a file that may not be read
		}
		if m := (fileImage{f}); f.Machine == elf.EM_X86_64 && f.Section(".interp") != nil {
			programs++
			main, ok := MainFromEntry(m, f.Entry)
			switch {
			case !ok:
				t.Logf("%s: no main", name)
			case !m.executable(main):
				t.Errorf("%s: main at %#x is no text", name, main)
			default:
				found++
			}
		}
		f.Close()
	}
	t.Logf("main of %d in %d programs", found, programs)
	if found*100 < programs*95 {
		t.Errorf("main of only %d in %d programs", found, programs)
	}
}
