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
	if v.typ.Kind == elfsym.Pointer {
		if elem := v.typ.Elem(); elem != nil && isText(elem) {
			var err error
			k.Left, err = v.operand()
			return err
		}
		if err := v.dereference(); err != nil {
			return err
		}
	}
	address, length := "", ""
	switch {
	case v.typ.Kind == elfsym.GoString:
		address, length = "str", "len"
	case isPair(v.typ):
		address, length = "data_ptr", "length"
	case isView(v.typ):
		address, length = "_M_str", "_M_len"
	case isString(v.typ):
		return v.compareString(k)
	default:
		return fmt.Errorf("%s is no text", v.name)
	}
	at, n := *v, *v
	err := at.member(address)
	if err == nil {
		err = n.member(length)
	}
	if err == nil {
		k.Left, err = at.operand()
	}
	if err == nil {
		var o perfevent.Operand
		o, err = n.operand()
		k.Text.Len = &o
	}
	return err
}

// compareString is compareText for libstdc++'s std::string, which begins with an address and a length.
func (v *found) compareString(k *perfevent.Condition) error {
	if v.base == nil {
		return v.unreadable()
	}
	word := &elfsym.Type{Kind: elfsym.Uint, Size: 8}
	at, n := *v, *v
	at.typ, n.typ = word, word
	n.off += 8
	var err error
	if k.Left, err = at.operand(); err != nil {
		return err
	}
	o, err := n.operand()
	k.Text.Len = &o
	return err
}
