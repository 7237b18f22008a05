package elfsym

import "debug/elf"

// A reloc is one dynamic relocation with addend.
type reloc struct {
	off    uint64 // address it changes
	kind   uint32
	sym    uint32 // index in the dynamic symbol table
	addend int64
}

// relocs calls f with the dynamic relocations in the order of the file until
// it returns false.
func (f *image) relocs(fn func(r reloc) bool) {
	for _, v := range f.relocViews() {
		more := true
		v.scan(relaSize, func(_ uint64, b []byte) bool {
			for ; more && len(b) >= relaSize; b = b[relaSize:] {
				info := le.Uint64(b[8:])
				more = fn(reloc{le.Uint64(b), uint32(info), uint32(info >> 32), int64(le.Uint64(b[16:]))})
			}
			return more
		})
		if !more {
			return
		}
	}
}

// relocViews returns the tables that the run-time linker, or a static
// program's start-up code, applies. In static programs only sections show
// them.
func (f *image) relocViews() []view {
	var vs []view
	for i := range f.hdr.sections {
		if s := &f.hdr.sections[i]; s.kind == elf.SHT_RELA && s.flags&elf.SHF_ALLOC != 0 {
			vs = append(vs, s.view(f.file))
		}
	}
	if vs == nil {
		vs = append(vs, f.dynView(elf.DT_RELA, f.dyn()[elf.DT_RELASZ]), f.dynView(elf.DT_JMPREL, f.dyn()[elf.DT_PLTRELSZ]))
	}
	return vs
}

// relocated fills b with the bytes at addr after the base relocations have
// been applied for a load bias of 0. A linker may leave the relocated places
// zero in the file.
func (f *image) relocated(b []byte, addr uint64) bool {
	if !f.ReadAddr(b, addr) {
		return false
	}
	if f.hdr.kind != elf.ET_DYN || f.hdr.machine != elf.EM_X86_64 {
		return true
	}
	n := uint64(len(b))
	f.relocs(func(r reloc) bool {
		if r.kind == uint32(elf.R_X86_64_RELATIVE) && r.off >= addr && n >= 8 && r.off-addr <= n-8 {
			le.PutUint64(b[r.off-addr:], uint64(r.addend))
		}
		return true
	})
	return true
}
