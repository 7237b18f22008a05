package elfsym

import "debug/elf"

// dynNames is the part of a dynamic symbol table besides the symbols: a way
// to find a name, and versions.
type dynNames struct {
	each   func(name string, f func(i uint32)) // nil: no hash table
	versym view
	defs   map[uint16]string // names of the versions this file defines
}

func newDynNames(f *File, t *symTable) *dynNames {
	d := &dynNames{}
	if g, ok := openGNUHash(f.tagged(elf.SHT_GNU_HASH, elf.DT_GNU_HASH)); ok {
		d.each = g.each
	} else if s, ok := openSysvHash(f.tagged(elf.SHT_HASH, elf.DT_HASH)); ok {
		d.each = s.each
	}
	d.versym = f.tagged(elf.SHT_GNU_VERSYM, elf.DT_VERSYM)
	d.defs = versionNames(f.tagged(elf.SHT_GNU_VERDEF, elf.DT_VERDEF), t.names)
	return d
}

// tagged returns the section of that type. Without sections it returns what
// the dynamic section points to.
func (f *image) tagged(kind elf.SectionType, tag elf.DynTag) view {
	for i := range f.hdr.sections {
		if s := &f.hdr.sections[i]; s.kind == kind {
			return s.view(f.file)
		}
	}
	return f.dynView(tag, maxLoad)
}

const (
	maxVersions   = 4096
	versionHidden = 0x8000 // bit of a versym entry: not the default version
	versionGlobal = 1      // versym entries up to this one have no version
)

// versionNames reads .gnu.version_d: records linked by relative offsets, each
// with the name of the version in its first auxiliary record.
func versionNames(v, names view) map[uint16]string {
	defs := make(map[uint16]string)
	off := uint64(0)
	for range maxVersions {
		b, ok := v.bytes(off, 20)
		if !ok {
			break
		}
		ndx, aux, next := le.Uint16(b[4:]), le.Uint32(b[12:]), le.Uint32(b[16:])
		if name, ok := v.u32(off + uint64(aux)); ok {
			if s, ok := names.cstring(uint64(name)); ok && v.b.keep(uint64(64+len(s))) {
				defs[ndx&^versionHidden] = s
			}
		}
		if next == 0 {
			break
		}
		off += uint64(next)
	}
	return defs
}

// version returns the version of symbol i, and whether it is the one for
// references without a version.
func (d *dynNames) version(i uint32) (name string, isDefault bool) {
	var b [2]byte
	if !d.versym.readAt(b[:], 2*uint64(i)) {
		return "", true
	}
	n := le.Uint16(b[:])
	if n&^versionHidden <= versionGlobal {
		return "", true
	}
	return d.defs[n&^versionHidden], n&versionHidden == 0
}
