package elfsym

// maxInlined bounds the depth of inlining, in case the records form a loop.
const maxInlined = 128

// An inlinedCall is a record of FUNCDATA_InlTree (runtime/symtabinl.go).
type inlinedCall struct {
	name     uint32
	parentPC int32 // an instruction whose position is that of the call
}

// lines appends the position of pc, innermost function first, as in the
// runtime's own tracebacks.
func (g *GoTable) lines(pc uint64, buf []Line) []Line {
	f := g.at(pc)
	if f == nil || f.pcln == 0 {
		return buf
	}
	at := pc
	for range maxInlined {
		file := g.fileName(f, g.value(f, f.pcfile, at))
		line := int(max(g.value(f, f.pcln, at), 0))
		c, ok := g.inlinedAt(f, at)
		if !ok {
			return append(buf, Line{Func: f.Name, Raw: f.Name, File: file, Line: line})
		}
		name, _ := g.names.cstring(uint64(c.name))
		buf = append(buf, Line{Func: name, Raw: name, File: file, Line: line, Inlined: true})
		at = f.Entry + uint64(int64(c.parentPC))
	}
	return buf
}

// inlinedAt returns the innermost call that was inlined at pc.
func (g *GoTable) inlinedAt(f *goFunc, pc uint64) (inlinedCall, bool) {
	if f.inlTree == noFuncdata || f.inlIndex == 0 {
		return inlinedCall{}, false
	}
	i := g.value(f, f.inlIndex, pc)
	if i < 0 {
		return inlinedCall{}, false
	}
	return g.inlinedCall(f, i)
}

// inlinedCall returns record i of a function's inline tree.
func (g *GoTable) inlinedCall(f *goFunc, i int32) (inlinedCall, bool) {
	base := g.readModule().gofunc
	size, name, parent := uint64(16), 4, 8
	if g.version == go118 {
		// The parent's index, file and line come before.
		size, name, parent = 20, 12, 16
	}
	b := make([]byte, size)
	if base == 0 || !g.file.ReadAddr(b, base+uint64(f.inlTree)+uint64(i)*size) {
		return inlinedCall{}, false
	}
	return inlinedCall{le.Uint32(b[name:]), int32(le.Uint32(b[parent:]))}, true
}

// fileName returns the name of file n of f. From 1.16 on it is found through
// the table of the compilation unit.
func (g *GoTable) fileName(f *goFunc, n int32) string {
	if n < 0 {
		return ""
	}
	if g.version == go12 {
		off, ok := g.files.u32(4 * uint64(n))
		if !ok || n == 0 {
			return ""
		}
		s, _ := g.funcs.cstring(uint64(off))
		return s
	}
	off, ok := g.cutab.u32(4 * (uint64(f.cu) + uint64(n)))
	if !ok || off == ^uint32(0) {
		return ""
	}
	s, _ := g.files.cstring(uint64(off))
	return s
}
