package elfsym

import (
	"debug/dwarf"

	"ptools/internal/cursor"
)

// A unitTable is the kept part of a unit: its lines, and its functions with
// the calls that were inlined into them.
type unitTable struct {
	unit  *unit
	line  *lineTable
	nodes []inlineNode
	cover cover // owners are indexes in nodes
	size  int   // bytes, as they are counted
}

// An inlineNode is a function, or a call that was inlined.
type inlineNode struct {
	off      uint64 // of its entry in .debug_info
	name     string // set when it was first needed
	raw      string // as it is in the file
	parent   uint32 // the node it was inlined into; unowned for a function
	callFile uint32
	callLine uint32
	call     isCall // set when it was first needed
}

// isCall says whether an inlined call is one in the source.
type isCall uint8

const (
	callUnknown isCall = iota
	callInSource
	callOfRest // the compiler has split the function, and put its rest back in
)

const (
	maxNodes  = 1 << 19
	maxClaims = 1 << 20 // ranges of all nodes
	maxDepth  = 1 << 10 // nesting of entries
)

// bytes estimates what t holds, apart from names that are looked up later.
func (t *unitTable) bytes() int {
	n := 512 + 16*len(t.line.rows) + 32*len(t.line.seqs) + 64*len(t.line.files) + 64*len(t.nodes) + 12*len(t.cover.starts)
	for _, f := range t.line.files {
		n += len(f.name)
	}
	for _, dir := range t.line.dirs {
		n += 16 + len(dir)
	}
	return n
}

// readTable reads the unit at off, except damaged parts.
func (d *dwarfFile) readTable(off uint64) *unitTable {
	t := &unitTable{line: &lineTable{}}
	u, ok := d.unitAt(off)
	if !ok {
		return t
	}
	if _, ok := u.readRoot(); !ok {
		return t
	}
	t.unit = d.full(u)
	t.line = u.readLines()
	t.readNodes()
	t.size = t.bytes()
	return t
}

// readNodes walks the entries of the unit. Entries that are neither functions
// nor inlined calls are skipped as cheaply as their layout allows. Entries
// with a sibling attribute are skipped with all their children.
func (t *unitTable) readNodes() {
	u := t.unit
	if u.end-u.entries > maxUnitBytes {
		return
	}
	data, ok := u.d.info.bytes(u.entries, u.end-u.entries)
	abbrevs := readAbbrevs(u.d.abbrev, u.abbrevOff, 0, u)
	if !ok || abbrevs == nil {
		return
	}
	var (
		c      = cursor.Cursor{B: data}
		e      die
		parent [maxDepth]uint32 // innermost node by depth
		depth  = 0
		claims []claim
		spans  []span
	)
	parent[0] = unowned
	for c.Remaining() > 0 && len(t.nodes) < maxNodes && len(claims) < maxClaims {
		a, more := u.peek(&c, abbrevs)
		if a == nil {
			if !more {
				break
			}
			if depth--; depth <= 0 {
				break
			}
			continue
		}
		node := parent[depth]
		if !a.wanted && a.fixed >= 0 {
			c.Uleb()
			c.Skip(uint64(a.fixed))
		} else if !u.entry(&c, u.entries, abbrevs, &e) {
			break
		} else if a.tag == dwarf.TagSubprogram || a.tag == dwarf.TagInlinedSubroutine {
			if spans = u.spans(&e, spans[:0]); len(spans) > 0 {
				node = t.addNode(&e, parent[depth])
				for _, s := range spans {
					claims = append(claims, claim{s.start, s.end, node})
				}
			}
		} else if a.children && e.sibling > u.entries+c.Off && e.sibling < u.end && skippable(a.tag) {
			c.Off = e.sibling - u.entries
			continue
		}
		if a.children {
			if depth++; depth >= maxDepth {
				break
			}
			parent[depth] = node
		}
	}
	t.cover = settle(claims)
	t.cover.clip()
}

// peek returns the layout of the entry under the cursor, and does not move the
// cursor. At the end of siblings it returns nil, and moves the cursor past the
// mark. On an error it returns nil and false.
func (u *unit) peek(c *cursor.Cursor, t *abbrevTable) (*abbrev, bool) {
	at := *c
	code := at.Uleb()
	if at.Bad {
		return nil, false
	}
	if code == 0 {
		*c = at
		return nil, true
	}
	a := t.get(code)
	return a, a != nil
}

// skippable reports whether an entry with that tag holds no functions of its
// own unit's code: types and their members.
func skippable(tag dwarf.Tag) bool {
	switch tag {
	case dwarf.TagArrayType, dwarf.TagEnumerationType, dwarf.TagSubroutineType, dwarf.TagUnionType:
		return true
	}
	return false
}

func (t *unitTable) addNode(e *die, parent uint32) uint32 {
	n := inlineNode{off: e.off, parent: unowned}
	if e.abbrev.tag == dwarf.TagInlinedSubroutine {
		n.parent = parent
		n.callFile, n.callLine = uint32(e.callFile), uint32(e.call.line)
	}
	t.nodes = append(t.nodes, n)
	return uint32(len(t.nodes) - 1)
}

// lines appends the position of addr and the calls it was inlined through.
func (t *unitTable) lines(addr uint64, buf []Line) []Line {
	row, hasRow := t.line.find(addr)
	i, hasNode := t.cover.owner(addr)
	if !hasRow && !hasNode {
		return buf
	}
	file, line := "", 0
	if hasRow {
		file, line = t.fileName(uint64(row.file)), int(row.line)
	}
	for depth := 0; hasNode && depth < maxInlined; depth++ {
		n := &t.nodes[i]
		if n.parent == unowned {
			break
		}
		if t.rest(n) {
			i = n.parent
			continue
		}
		if t.name(n) != "" { // otherwise it is part of the function that it was inlined into
			buf = append(buf, Line{Func: n.name, Raw: n.raw, File: file, Line: line, Inlined: true})
		}
		file, line = t.fileName(uint64(n.callFile)), int(n.callLine)
		i = n.parent
	}
	// The function itself has the name that Symbol gives it: entries of local
	// functions and of template instances often have only a plain name.
	name, raw := "", ""
	if s, ok := t.unit.d.f.Symbol(addr); ok {
		name, raw = s.Name, s.Raw
	} else if hasNode {
		n := &t.nodes[i]
		name, raw = t.name(n), n.raw
	}
	return append(buf, Line{Func: name, Raw: raw, File: file, Line: line})
}

// rest reports whether an inlined call is the rest of the very function that it was inlined into. GCC splits a function to inline
// its beginning elsewhere, and then puts the rest back. The position of such a call is where the function is declared.
func (t *unitTable) rest(n *inlineNode) bool {
	if n.call == callUnknown {
		n.call = callInSource
		of := &t.nodes[n.parent]
		call, d, callee := t.origin(n)
		if _, e, caller := t.origin(of); caller != 0 && caller == callee && d == e && d != nil {
			if u, ok := d.unitOf(callee); ok {
				if f, ok := u.entryAt(callee); ok && f.decl.line != 0 && f.decl == call.call {
					n.call = callOfRest
				}
			}
		}
	}
	return n.call == callOfRest
}

// origin returns the entry of a node, and that of the function that it is a copy of.
func (t *unitTable) origin(n *inlineNode) (e die, d *dwarfFile, off uint64) {
	e, ok := t.unit.entryAt(n.off)
	if !ok {
		return e, nil, 0
	}
	d, off = t.unit.follow(e.origin)
	return e, d, off
}

func (t *unitTable) name(n *inlineNode) string {
	if n.name == "" {
		name, raw := t.unit.functionName(n.off)
		if t.unit.d.f.budget.keep(uint64(len(name) + len(raw))) {
			n.name, n.raw = name, raw
		}
	}
	return n.name
}

// functionName returns the name, and the name in the file, of the function whose entry is at off: that of
// the entry, or of the entry that it refers to. The linkage name is preferred
// to the plain one, which the names of its namespace and class precede. The entry
// may be in another unit than u, and in the supplementary file.
func (u *unit) functionName(off uint64) (name, raw string) {
	d := u.d
	var in *unit // of the declaration, at declared
	var declared uint64
	for range 8 {
		if d != u.d || off < u.entries || off >= u.end {
			var ok bool
			if u, ok = d.unitOf(off); !ok || off < u.entries {
				break
			}
		}
		e, ok := u.entryAt(off)
		if !ok {
			break
		}
		if s := u.str(e.linkage); s != "" {
			return demangled(s), s
		}
		if raw == "" {
			raw = u.str(e.name)
		}
		in, declared = u, off
		if d, off = u.follow(e.origin); d == nil || off == 0 {
			break
		}
	}
	if raw == "" {
		return "", ""
	}
	return in.scopeOf(declared) + raw, raw
}

// follow returns the entry that a reference refers to: its file, and its offset there.
func (u *unit) follow(v value) (*dwarfFile, uint64) {
	switch v.form {
	case formRefSup4, formRefSup8, formGNURefAlt:
		return u.d.supplement(), v.v
	}
	return u.d, u.reference(v)
}
