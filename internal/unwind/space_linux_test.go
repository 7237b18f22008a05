package unwind

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"strings"
	"testing"

	"ptools/internal/elfsym"
	"ptools/internal/procfs"
)

// A testSpace is the executable memory of a process, as it was when it was read.
type testSpace struct {
	maps  []Mapping
	files map[*Table]*elfsym.File
}

func (s *testSpace) Find(pc uint64) (Mapping, bool) {
	i := sort.Search(len(s.maps), func(i int) bool { return s.maps[i].End > pc })
	if i == len(s.maps) || pc < s.maps[i].Start {
		return Mapping{}, false
	}
	return s.maps[i], true
}

// name returns the function of a frame, if a symbol names it.
func (s *testSpace) name(f Frame) string {
	pc := f.PC
	if f.Return {
		pc--
	}
	m, ok := s.Find(pc)
	if !ok {
		return fmt.Sprintf("%#x?", pc)
	}
	if file := s.files[m.Table]; file != nil {
		if sym, ok := file.Symbol(pc - m.Bias); ok {
			return sym.Name
		}
		return fmt.Sprintf("%s+%#x", file.Path(), pc-m.Bias)
	}
	return fmt.Sprintf("%#x", pc)
}

// start returns the address of the function of a frame, if a symbol names it.
func (s *testSpace) start(f Frame) (uint64, bool) {
	pc := f.PC
	if f.Return {
		pc--
	}
	m, _ := s.Find(pc)
	if file := s.files[m.Table]; file != nil {
		sym, ok := file.Symbol(pc - m.Bias)
		return sym.Addr + m.Bias, ok
	}
	return 0, false
}

// names returns the functions of a stack.
func (s *testSpace) names(frames []Frame) []string {
	var names []string
	for _, f := range frames {
		n := s.name(f)
		if f.Signal {
			n = "<signal> " + n
		}
		names = append(names, n)
	}
	return names
}

// openSpace reads the maps of a process and opens what is mapped.
func openSpace(t testing.TB, pid int) *testSpace {
	t.Helper()
	maps, err := procfs.Maps(pid)
	if err != nil {
		t.Fatal(err)
	}
	s := &testSpace{files: map[*Table]*elfsym.File{}}
	tables := map[string]*Table{}
	for _, m := range maps {
		if !strings.Contains(m.Perm.String(), "x") || m.Path == "[vsyscall]" {
			continue
		}
		x := Mapping{Start: m.Start, End: m.End}
		t0 := tables[m.Path]
		if t0 == nil && m.Path != "" {
			if f := openMapped(t, pid, m); f != nil {
				t0 = NewTable(f)
				s.files[t0] = f
				tables[m.Path] = t0
			}
		}
		if t0 != nil {
			x.Table, x.Bias = t0, bias(s.files[t0], m)
		}
		s.maps = append(s.maps, x)
	}
	return s
}

func openMapped(t testing.TB, pid int, m procfs.Map) *elfsym.File {
	if m.Path == "[vdso]" {
		mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		if err != nil {
			t.Fatal(err)
		}
		defer mem.Close()
		b := make([]byte, m.End-m.Start)
		if _, err := mem.ReadAt(b, int64(m.Start)); err != nil {
			t.Fatal(err)
		}
		f, err := elfsym.New(bytes.NewReader(b), int64(len(b)), m.Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if m.Inode == 0 {
		return nil
	}
	root, err := procfs.OpenRoot(pid)
	if err != nil {
		return nil
	}
	defer root.Close()
	// This opens files that have been deleted, or were never in a file system, as well, if we have the right to.
	file, err := root.OpenMapped(m)
	if m.Deleted && errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	}
	if err != nil {
		return nil
	}
	t.Cleanup(func() { file.Close() })
	st, _ := file.Stat()
	f, err := elfsym.New(file, st.Size(), m.Path, hostFiles{t})
	if err != nil {
		return nil
	}
	return f
}

// hostFiles opens separate debug files, and closes them when the test ends. A File without a cache leaves that to the
// garbage collector, which may not have run before the check for open descriptors.
type hostFiles struct{ t testing.TB }

func (h hostFiles) OpenDebug(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err == nil {
		h.t.Cleanup(func() { f.Close() })
	}
	return f, err
}

// bias returns the difference between the addresses of a mapping and those in the file.
func bias(f *elfsym.File, m procfs.Map) uint64 {
	if m.Path == "[vdso]" {
		return m.Start - f.Segments()[0].Vaddr
	}
	for _, seg := range f.Segments() {
		if seg.Flags&elf.PF_X != 0 && m.Off >= seg.Off&^4095 && m.Off < seg.Off+seg.Filesz {
			return m.Start - m.Off - (seg.Vaddr - seg.Off)
		}
	}
	return m.Start - m.Off
}

// A textReader records whether any of a file's code is read.
type textReader struct {
	*os.File
	code elf.SectionHeader
	read bool
}

func (r *textReader) ReadAt(b []byte, off int64) (int, error) {
	r.read = r.read || off < int64(r.code.Offset+r.code.Size) && off+int64(len(b)) > int64(r.code.Offset)
	return r.File.ReadAt(b, off)
}

// TestTablesLeaveCodeAlone: no code is read. That of a browser or a compiler is a hundred megabytes.
func TestTablesLeaveCodeAlone(t *testing.T) {
	const libc = "/lib/x86_64-linux-gnu/libc.so.6"
	file, err := os.Open(libc)
	if err != nil {
		t.Skip(err)
	}
	defer file.Close()
	e, err := elf.NewFile(file)
	if err != nil {
		t.Fatal(err)
	}
	st, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	r := &textReader{File: file, code: e.Section(".text").SectionHeader}
	f, err := elfsym.New(r, st.Size(), libc, nil)
	if err != nil {
		t.Fatal(err)
	}
	if NewTable(f).function(r.code.Addr+r.code.Size/2) == nil {
		t.Error("no call frame information in the middle of the C library")
	}
	if r.read {
		t.Error("code was read")
	}
}
