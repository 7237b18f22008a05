package calls

import (
	"errors"
	"fmt"

	"ptools/internal/elfsym"
	"ptools/internal/perfevent"
)

var errTextOrder = errors.New("texts are compared by == and != only")

// compareText makes the comparison with a text.
func (v *found) compareText(k *perfevent.Condition, text string) error {
	if k.Op != perfevent.Equal && k.Op != perfevent.NotEqual {
		return errTextOrder
	}
	k.Text = &perfevent.TextOperand{Text: text}
	if v.typ == nil {
		var err error
		k.Left, err = v.operand()
		return err
	}
	var isText bool
	var err error
	k.Left, k.Text.Len, isText, err = v.text()
	if err == nil && !isText {
		err = fmt.Errorf("%s is no text", v.name)
	}
	return err
}

// text returns where a text is: its address, and its length, which is nil if a zero byte ends it. isText is false if the value is none.
func (v *found) text() (address perfevent.Operand, length *perfevent.Operand, isText bool, err error) {
	at := *v
	if v.typ == nil {
		return address, nil, false, nil
	}
	if v.typ.Kind == elfsym.Pointer {
		elem := v.typ.Elem()
		switch {
		case elem == nil || !isChar(elem) && !isTextObject(elem):
			return address, nil, false, nil
		case isChar(elem):
			address, err = v.operand()
			return address, nil, true, err
		}
		if err := at.dereference(); err != nil {
			return address, nil, true, err
		}
	}
	n := at
	switch t := at.typ; {
	case !isTextObject(t):
		return address, nil, false, nil
	case t.Kind == elfsym.GoString:
		err = errors.Join(at.member("str"), n.member("len"))
	case t.Kind == elfsym.GoSlice:
		err = errors.Join(at.member("array"), n.member("len"))
	case isView(t):
		err = errors.Join(at.member("_M_str"), n.member("_M_len"))
	case isString(t) && at.base == nil:
		err = v.unreadable()
	case isString(t):
		word := &elfsym.Type{Kind: elfsym.Uint, Size: 8}
		at.typ, n.typ = word, word
		n.off += 8
	default:
		err = errors.Join(at.member("data_ptr"), n.member("length"))
	}
	if err == nil {
		address, err = at.operand()
	}
	if err != nil {
		return address, nil, true, err
	}
	o, err := n.operand()
	return address, &o, true, err
}

// isTextObject reports whether a type is a text with a length.
func isTextObject(t *elfsym.Type) bool {
	return t.Kind == elfsym.GoString || t.Kind == elfsym.GoSlice && isBytes(t) || isView(t) || isString(t) || isRustText(t) || isRustBytes(t)
}
