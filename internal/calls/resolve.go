package calls

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"ptools/internal/elfsym"
	"ptools/internal/perfevent"
)

// resolve translates a condition for a function, whose arguments have names and types.
func (l *layout) resolve(c *Condition) (*perfevent.Condition, error) {
	k := &perfevent.Condition{Op: c.op}
	switch c.op {
	case perfevent.And, perfevent.Or, perfevent.Not:
		var err error
		if k.A, err = l.resolve(c.a); err == nil && c.b != nil {
			k.B, err = l.resolve(c.b)
		}
		return k, err
	}
	left, err := l.find(c.left.path)
	if err != nil {
		return nil, err
	}
	if c.right.kind == textOperand && c.left.modulo > 0 {
		return nil, fmt.Errorf("%s: a remainder is no text", left.name)
	}
	if c.right.kind == textOperand {
		return k, left.compareText(k, c.right.text)
	}
	if k.Left, err = left.operand(); err != nil {
		return nil, err
	}
	k.Left.Modulo = c.left.modulo
	k.Signed = k.Left.Signed || c.right.minus
	switch c.right.kind {
	case numberOperand:
		k.Number = c.right.number
		if err := left.fits(c.op, &c.right); err != nil {
			return nil, err
		}
	case pathOperand:
		if n, ok := left.enumerator(c.right.path); ok {
			k.Number = uint64(n)
			return k, nil
		}
		right, err := l.find(c.right.path)
		if err != nil {
			return nil, err
		}
		o, err := right.operand()
		if err != nil {
			return nil, err
		}
		o.Modulo = c.right.modulo
		k.Right, k.Signed = &o, k.Left.Signed || o.Signed
		// As signed ones, all numbers but large ones without a sign are what they are.
		for _, side := range []*perfevent.Operand{&k.Left, &o} {
			if k.Signed && !side.Signed && side.Size == 8 && k.Left.Signed != o.Signed {
				return nil, fmt.Errorf("%s and %s cannot be compared: one has a sign, and the other has 8 bytes and none", left.name, right.name)
			}
		}
	}
	return k, nil
}

// A found is a value that a path leads to: in words of the call, or in memory.
type found struct {
	name  string
	typ   *elfsym.Type // nil: a word
	parts []part
	base  *perfevent.Operand // of the address; nil: in words
	off   uint64             // from there
	// result: the words are those of the end of the call.
	result bool
}

// find follows a path.
func (l *layout) find(path []string) (*found, error) {
	v, err := l.first(path[0])
	for _, member := range path[1:] {
		if err == nil {
			err = v.member(member)
		}
	}
	if err == nil {
		err = v.refer()
	}
	return v, err
}

// refer goes to what a C++ reference leads to, which is what its name means.
func (v *found) refer() error {
	if v.typ == nil || !v.typ.Reference() {
		return nil
	}
	return v.dereference()
}

// first returns an argument by its name, or by its number from 1 on.
func (l *layout) first(name string) (*found, error) {
	n := -1
	if digits, ok := strings.CutPrefix(name, "$"); ok {
		number, err := strconv.Atoi(digits)
		if err != nil || number < 1 || number > len(l.args) {
			return nil, fmt.Errorf("no argument %s: there are %d", name, len(l.args))
		}
		n = number - 1
	}
	var names []string
	for i := range l.args {
		if l.args[i].name == name {
			n = i
		}
		if l.args[i].name != "" {
			names = append(names, l.args[i].name)
		}
	}
	switch {
	case n < 0 && !l.typed:
		return nil, fmt.Errorf("no argument is named %s: there is no debug information, and arguments are $1 to $%d", name, len(l.args))
	case n < 0 && len(names) == 0:
		return nil, fmt.Errorf("no argument is named %s: it has none with a name", name)
	case n < 0:
		return nil, fmt.Errorf("no argument is named %s, but %s", name, strings.Join(names, ", "))
	}
	a := &l.args[n]
	v := &found{name: name, typ: a.typ, parts: a.parts}
	if a.typ != nil && a.typ.ByReference && len(a.parts) == 1 {
		o, err := v.address(a.parts)
		v.base = o
		return v, err
	}
	return v, nil
}

// address is the operand for a pointer in words.
func (v *found) address(parts []part) (*perfevent.Operand, error) {
	if len(parts) != 1 || parts[0].word == unread || parts[0].size != 8 || parts[0].off != 0 {
		return nil, v.unreadable()
	}
	return &perfevent.Operand{Word: parts[0].word, Size: 8}, nil
}

func (v *found) unreadable() error {
	if v.result {
		return fmt.Errorf("%s cannot be read when the call ends: it is in no register for integers", v.name)
	}
	return fmt.Errorf("%s cannot be read when the call begins: it is in no register for integers", v.name)
}

// mostLoads bounds the pointers of a path.
const mostLoads = 6

// dereference goes to what a pointer leads to.
func (v *found) dereference() error {
	o, err := v.operand()
	if err != nil {
		return err
	}
	if len(o.Loads) == mostLoads {
		return fmt.Errorf("%s follows too many pointers", v.name)
	}
	elem := v.typ.Elem()
	if elem == nil {
		return fmt.Errorf("debug information does not say what %s points to", v.name)
	}
	o.Size, o.Signed = 8, false
	v.base, v.off, v.typ, v.parts = &o, 0, elem, nil
	return nil
}

// member goes to a member of a struct, or of one that a pointer leads to.
func (v *found) member(name string) error {
	if v.typ == nil {
		return fmt.Errorf("%s has no known members", v.name)
	}
	if v.typ.Kind == elfsym.Pointer {
		if err := v.dereference(); err != nil {
			return err
		}
	}
	off, f, ok := fieldOf(v.typ, name, 0)
	if !ok {
		if names := fieldNames(v.typ); names != "" {
			return fmt.Errorf("%s has no member %s, but %s", v.name, name, names)
		}
		return fmt.Errorf("%s has no members that are known", v.name)
	}
	v.name += "." + name
	if f.Bits {
		return fmt.Errorf("%s is a bit field, which cannot be compared", v.name)
	}
	v.typ = f.Type
	if v.base != nil {
		v.off += off
		return nil
	}
	return v.within(off)
}

// within narrows the parts to those of a member.
func (v *found) within(off uint64) error {
	at := uint64(0)
	var parts []part
	for _, p := range v.parts {
		from, to := max(at, off), min(at+uint64(p.size), off+v.typ.Size)
		if from < to {
			parts = append(parts, part{p.word, p.off + uint8(from-at), uint8(to - from)})
		}
		at += uint64(p.size)
	}
	if v.parts = parts; len(parts) == 0 {
		return v.unreadable()
	}
	return nil
}

// fieldOf finds a member; members of unnamed structs count too, and, behind all of the class itself, those of classes that it inherits from.
func fieldOf(t *elfsym.Type, name string, depth int) (uint64, elfsym.Field, bool) {
	fields := t.Fields()
	for _, bases := range [...]bool{false, true} {
		for _, f := range fields {
			switch {
			case f.Base != bases || depth > maxNesting:
			case f.Name == name || strings.HasSuffix(f.Name, "."+name): // Go has the package in front of some
				return f.Off, f, true
			case f.Name == "":
				if off, inner, ok := fieldOf(f.Type, name, depth+1); ok {
					return f.Off + off, inner, true
				}
			}
		}
	}
	return 0, elfsym.Field{}, false
}

// mostListed bounds the members that a message names.
const mostListed = 12

func fieldNames(t *elfsym.Type) string {
	var names []string
	for _, f := range t.Fields() {
		if f.Name != "" && len(names) < mostListed {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

// operand is the number that was found.
func (v *found) operand() (perfevent.Operand, error) {
	if v.typ != nil && (v.typ.Kind == elfsym.Float || v.typ.Size > 8 || v.typ.Size == 0 || v.typ.Kind == elfsym.Struct ||
		v.typ.Kind == elfsym.Union || v.typ.Kind == elfsym.Array || v.typ.Kind == elfsym.UnknownType) {
		return perfevent.Operand{}, fmt.Errorf("%s is no integer, pointer or text", v.name)
	}
	size, signed := uint8(8), false
	if v.typ != nil {
		size, signed = uint8(v.typ.Size), v.typ.Signed()
	}
	if v.base != nil {
		if v.off > 1<<30 {
			return perfevent.Operand{}, v.unreadable()
		}
		o := *v.base
		o.Loads = append(o.Loads[:len(o.Loads):len(o.Loads)], int32(v.off))
		o.Size, o.Signed = size, signed
		return o, nil
	}
	if len(v.parts) != 1 || v.parts[0].word == unread {
		return perfevent.Operand{}, v.unreadable()
	}
	p := v.parts[0]
	return perfevent.Operand{Word: p.word, Shift: 8 * int32(p.off), Size: size, Signed: signed}, nil
}

// fits refuses numbers that the value can never have: such a condition is a slip.
func (v *found) fits(op perfevent.Op, n *operand) error {
	negative := n.minus && n.number != 0 || op == perfevent.Less && n.number == 0
	if v.typ == nil {
		if negative {
			return fmt.Errorf("%s has no sign: there is no debug information about its type", v.name)
		}
		return nil
	}
	signed := v.typ.Signed()
	switch {
	case negative && !signed:
		return fmt.Errorf("%s is never negative", v.name)
	case v.typ.Size >= 8 && signed && !n.minus && n.number > math.MaxInt64:
		return fmt.Errorf("%s has %d bytes with a sign, and never the value that it is compared with", v.name, v.typ.Size)
	case v.typ.Size >= 8:
		return nil
	}
	bits := 8 * v.typ.Size
	low, high := int64(0), int64(1)<<bits-1
	if signed {
		low, high = -1<<(bits-1), 1<<(bits-1)-1
	}
	if !n.minus && n.number > uint64(high) || n.minus && int64(n.number) < low {
		return fmt.Errorf("%s has %d bytes, and never the value that it is compared with", v.name, v.typ.Size)
	}
	return nil
}

// enumerator returns the value that a name has in the type of the value, if that is an enumeration.
func (v *found) enumerator(path []string) (int64, bool) {
	if v.typ == nil || v.typ.Kind != elfsym.Enum || len(path) != 1 {
		return 0, false
	}
	return v.typ.Value(path[0])
}
