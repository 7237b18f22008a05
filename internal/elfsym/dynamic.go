package elfsym

import "debug/elf"

// dynamic is the dynamic section by tag; of repeated tags the first.
type dynamic map[elf.DynTag]uint64

const maxDynamic = 4096 // entries

func (f *image) dyn() dynamic {
	return f.dynamic.get(func() dynamic {
		p, ok := f.prog(elf.PT_DYNAMIC)
		if !ok || f.debug {
			return nil
		}
		b := f.file.upTo(p.Off, min(p.Filesz, maxDynamic*dynSize))
		d := make(dynamic)
		for ; len(b) >= dynSize; b = b[dynSize:] {
			tag := elf.DynTag(int64(le.Uint64(b)))
			if tag == elf.DT_NULL {
				break
			}
			if _, ok := d[tag]; !ok {
				d[tag] = le.Uint64(b[8:])
			}
		}
		return d
	})
}

// dynView returns n bytes, or as many as the segment has, from the address in
// a dynamic entry.
func (f *image) dynView(tag elf.DynTag, n uint64) view {
	addr, ok := f.dyn()[tag]
	if !ok {
		return view{}
	}
	v := f.addrView(addr)
	if v.size == 0 {
		v = f.addrView(addr - f.base)
	}
	return v.sub(0, n)
}

// FirstNeeded returns the first shared object that the file needs, by the name that the run-time linker looks for; "" if it
// needs none.
func (f *image) FirstNeeded() string { return f.dynText(elf.DT_NEEDED) }

// Soname returns what the shared object is called by those that need it; "" if it has no such name.
func (f *image) Soname() string { return f.dynText(elf.DT_SONAME) }

// dynText returns the text of a dynamic entry.
func (f *image) dynText(tag elf.DynTag) string {
	off, ok := f.dyn()[tag]
	if !ok {
		return ""
	}
	name, _ := f.dynView(elf.DT_STRTAB, maxLoad).cstring(off)
	return name
}
