package elfsym

import (
	"debug/dwarf"
	"slices"
	"strings"
)

// A Signature is how a function is called, as debug information describes it.
type Signature struct {
	Language Language
	Params   []Param
	Results  []Param // one without a name, except in Go
	// Altered: the compiler has changed how it is called, or may have. Only places of parameters that are given are known, and nothing of
	// the result.
	Altered bool
}

// A Param is a parameter or a result.
type Param struct {
	Name string
	Type *Type
	At   []Place // when the function begins, if debug information says that
}

// A Language is what matters of the language that a function was written in.
type Language uint8

const (
	OtherLanguage Language = iota
	LanguageC              // and C++, and what is called as they are
	LanguageGo
	LanguageRust
)

// languageOf translates DWARF's numbers (DW_LANG_*).
func languageOf(n uint16) Language {
	switch n {
	case 0x16:
		return LanguageGo
	case 0x1c:
		return LanguageRust
	case 0x01, 0x02, 0x04, 0x0c, 0x1a, 0x1d, 0x21, 0x2b, 0x2c, 0x3a, 0x8001:
		return LanguageC
	}
	return OtherLanguage
}

// mostParams bounds the parameters of a function that are read.
const mostParams = 128

const tagParameterPack dwarf.Tag = 0x4108 // DW_TAG_GNU_formal_parameter_pack

// SignatureOf returns the signature of the function of a file that begins at a link-time address; nil if there is no debug
// information about it.
func SignatureOf(f *File, start uint64) *Signature {
	d := f.dwarf()
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	off, ok := findUnit(d.aranges.get(d.readAranges), start)
	if !ok {
		if off, ok = findUnit(d.all.get(d.readAll), start); !ok {
			return nil
		}
	}
	t := d.table(off)
	if t == nil || t.unit == nil {
		return nil
	}
	i, ok := t.cover.owner(start)
	for n := 0; ok && t.nodes[i].parent != unowned; n++ {
		if i = t.nodes[i].parent; n > maxInlined {
			return nil
		}
	}
	if !ok {
		return nil
	}
	e, ok := t.unit.detailAt(t.nodes[i].off)
	if !ok {
		return nil
	}
	if low, ok := t.unit.address(e.low); e.low.set() && (!ok || low != start) {
		return nil // an alias inside of it, or a part of it
	}
	r := typeReader{file: f, dwarf: d}
	return r.signature(t.unit, &e, start)
}

// A typeReader reads types while the lock is held that d, and what belongs to it, has.
type typeReader struct {
	file  *File
	dwarf *dwarfFile // whose lock it is
}

// signature reads the parameters below the entry of a function, and the type of its result, which may be that of its declaration. It returns nil if
// debug information has lines and no types.
func (r *typeReader) signature(u *unit, e *detail, start uint64) *Signature {
	s := &Signature{Language: languageOf(u.language), Altered: e.call == callNone || isAltered(r.file, start)}
	root, ok := u.entryAt(u.entries)
	if ok && s.Language == OtherLanguage {
		s.Language = languageOf(uint16(root.language.v))
	}
	cfa := len(e.frame.expr) == 1 && e.frame.expr[0] == opFrameCFA
	kept := true // all parameters are, in the frame
	var visit func(p *detail) bool
	visit = func(p *detail) bool {
		switch p.tag {
		case dwarf.TagUnspecifiedParameters:
			return false
		case tagParameterPack: // of a template
			u.children(p.off, visit)
			return true
		case dwarf.TagFormalParameter:
		default:
			return true
		}
		param := Param{}
		if places, ok := placesOf(u.at(&p.loc, start), cfa); ok {
			param.At = places
		}
		kept = kept && inFrame(&p.loc)
		param.Name, param.Type = r.described(u, p)
		switch {
		case !p.has(isOutput) && !(p.origin.set() && r.isResult(u, p)):
			s.Params = append(s.Params, param)
		case !slices.ContainsFunc(s.Results, func(o Param) bool { return o.Name == param.Name && o.Name != blank }):
			s.Results = append(s.Results, param) // Go describes some twice
		}
		return len(s.Params)+len(s.Results) < mostParams
	}
	u.children(e.off, visit)
	s.Altered = s.Altered || r.inner(u, e, s) && (!kept || u.isOptimized.get(u.findLists))
	if s.Language != LanguageGo {
		if _, t := r.described(u, e); t.Kind != Void {
			s.Results = []Param{{Type: t}}
		}
	}
	if len(s.Params)+len(s.Results) == 0 && s.Language != LanguageGo && !r.isPrototyped(u, e) && !u.hasTypes.get(u.findTypes) {
		return nil
	}
	return s
}

// blank is the name of results in Go that have none.
const blank = "_"

// isPrototyped reports whether a function of C is said to take the parameters that are described, which may be none.
func (r *typeReader) isPrototyped(u *unit, e *detail) bool {
	for range mostOrigins {
		if e.has(isPrototyped) {
			return true
		}
		next, ok := r.origin(&u, e)
		if !ok {
			return false
		}
		e = &next
	}
	return false
}

// inner reports whether LLVM may have changed how a function is called, as it does where it knows all calls: it removes parameters and results
// that are not used. GCC gives such functions other names.
func (r *typeReader) inner(u *unit, e *detail, s *Signature) bool {
	root, ok := u.entryAt(u.entries)
	if !ok || s.Language == LanguageGo {
		return false
	}
	if s.Language == LanguageRust {
		return true
	}
	for range mostOrigins {
		if e.has(isExternal) {
			return false
		}
		next, ok := r.origin(&u, e)
		if !ok {
			break
		}
		e = &next
	}
	return !strings.HasPrefix(u.str(root.producer), "GNU ")
}

// isAltered reports whether the function is a copy by GCC that takes other parameters.
func isAltered(f *File, start uint64) bool {
	sym, ok := f.Symbol(start)
	return ok && (strings.Contains(sym.Raw, ".isra.") || strings.Contains(sym.Raw, ".constprop.") || strings.Contains(sym.Raw, ".part."))
}

// mostOrigins bounds how many entries one refers to in a chain.
const mostOrigins = 8

// described returns the name and the type of an entry, which may be those of the entries that it refers to.
func (r *typeReader) described(u *unit, e *detail) (name string, t *Type) {
	found := false
	for range mostOrigins {
		if name == "" {
			name = u.str(e.name)
		}
		if e.typ.set() {
			t, found = r.referred(u, e.typ), true
			break
		}
		next, ok := r.origin(&u, e)
		if !ok {
			break
		}
		e = &next
	}
	if !found {
		t = &Type{Kind: Void}
	}
	for range mostOrigins { // the name may be farther than the type
		if name != "" {
			break
		}
		next, ok := r.origin(&u, e)
		if !ok {
			break
		}
		name, e = u.str(next.name), &next
	}
	return name, t
}

// isResult reports whether what a parameter refers to is a result.
func (r *typeReader) isResult(u *unit, e *detail) bool {
	for range mostOrigins {
		next, ok := r.origin(&u, e)
		if !ok {
			return false
		}
		if next.has(isOutput) {
			return true
		}
		e = &next
	}
	return false
}

// origin returns the entry that one refers to, and sets u to its unit.
func (r *typeReader) origin(u **unit, e *detail) (next detail, ok bool) {
	if !e.origin.set() {
		return next, false
	}
	at, ok := r.follow(u, e.origin)
	if !ok {
		return next, false
	}
	return (*u).detailAt(at)
}

// follow returns the offset of the entry that a reference leads to, and sets u to its unit.
func (r *typeReader) follow(u **unit, v value) (uint64, bool) {
	if v.form == formRefSig8 {
		next, ok := (*u).d.typeUnit(v.v)
		if !ok {
			return 0, false
		}
		*u = next
		return next.off + next.typeOff, true
	}
	d, off := (*u).follow(v)
	if d == nil || off == 0 {
		return 0, false
	}
	if d == (*u).d && off >= (*u).entries && off < (*u).end {
		return off, true
	}
	next, ok := d.unitOf(off)
	if !ok {
		return 0, false
	}
	*u = next
	return off, true
}
