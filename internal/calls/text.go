package calls

import (
	"bytes"
	"os"
	"slices"

	"ptools/internal/patience"
	"ptools/internal/procfs"
	"ptools/pctl/handle"
)

// openText opens the file that the text of an object is mapped from.
func (o *object) openText(w *Watch) (*os.File, []procfs.Map, error) {
	if o.ahead {
		f, err := o.openAhead(w)
		return f, nil, err
	}
	maps, err := procfs.Maps(w.PID)
	if err != nil {
		return nil, nil, err
	}
	// What the kernel takes (valid_vma in kernel/events/uprobes.c).
	maps = slices.DeleteFunc(maps, func(m procfs.Map) bool {
		return m.Start < o.Start || m.End > o.End || m.Inode == 0 ||
			m.Perm&(procfs.Exec|procfs.Write|procfs.Shared) != procfs.Exec
	})
	if len(maps) == 0 {
		return nil, nil, errMapped
	}
	f, err := patience.Do(func() (*os.File, error) {
		root, err := procfs.OpenRoot(w.PID)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return root.OpenMapped(maps[0])
	}, func(f *os.File) { f.Close() })
	return f, maps, err
}

// textOf compares the text of an object with its file: the kernel executes what the file has.
type textOf struct {
	mem    Memory
	o      *handle.Object
	maps   []procfs.Map
	blocks map[uint64][]byte // of the text in memory, by their addresses
	file   blocks
}

// textBlock is how much of the text is read at once. Each read takes a while: a process's memory may be slow to answer.
const textBlock = 64 << 10

// read reads the text of a mapping.
func (t *textOf) read(b []byte, addr uint64, m *procfs.Map) error {
	for len(b) > 0 {
		start := max(addr&^(textBlock-1), m.Start)
		block, ok := t.blocks[start]
		if !ok {
			block = make([]byte, min(addr&^(textBlock-1)+textBlock, m.End)-start)
			if _, err := t.mem.ReadAt(block, int64(start)); err != nil {
				_, err := t.mem.ReadAt(b, int64(addr)) // the rest of the block may be unreadable
				return err
			}
			if t.blocks == nil {
				t.blocks = map[uint64][]byte{}
			}
			t.blocks[start] = block
		}
		n := copy(b, block[addr-start:])
		b, addr = b[n:], addr+uint64(n)
	}
	return nil
}

// mostText is the longest instruction.
const mostText = 15

const trap = 0xcc

// check returns an error if a function is not mapped, or differs from its file where the probes come. Another program's uprobe may
// be there, which the file does not have.
func (t *textOf) check(f *Found) error {
	for _, p := range append([]Place{f.Plan.Entry}, f.Plan.Returns...) {
		addr := p.Addr + t.o.Bias
		i := slices.IndexFunc(t.maps, func(m procfs.Map) bool { return m.Start <= addr && addr < m.End })
		if i < 0 || t.maps[i].Off+addr-t.maps[i].Start != offset(t.o.File, p.Addr) {
			return errMapped
		}
		n := min(mostText, t.maps[i].End-addr, f.span(p.Addr))
		text, file := make([]byte, n), make([]byte, n)
		if !t.file.ReadAddr(file, p.Addr) {
			return ErrUnread
		}
		if err := t.read(text, addr, &t.maps[i]); err != nil {
			return err
		}
		for i := range text {
			if text[i] == trap {
				text[i] = file[i]
			}
		}
		if !bytes.Equal(text, file) {
			return errChanged
		}
	}
	return nil
}

// span returns how many bytes the function has from an address on; 1 in a piece that is apart.
func (f *Found) span(addr uint64) uint64 {
	if f.Has(addr) {
		return f.End - addr
	}
	return 1
}
