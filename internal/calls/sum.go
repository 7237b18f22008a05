package calls

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"ptools/internal/elfsym"
	"ptools/internal/perfevent"
)

// A Sum is a number that is summed over calls, as it was written: names of arguments are not resolved.
type Sum struct {
	Text     string
	root     *term
	atReturn bool
}

// A term is a number, a path, or an operation on two terms.
type term struct {
	op   perfevent.ExpressionOp
	a, b *term
	leaf operand
}

// ParseSum reads numbers, arguments and their members, or return, with + - * and parentheses.
func ParseSum(text string) (*Sum, error) {
	s := &Sum{Text: text}
	p := conditionParser{rest: text}
	var err error
	if s.root, err = p.sum(); err != nil {
		return nil, err
	}
	if p.next() != 0 {
		return nil, fmt.Errorf("%q is not expected there", p.rest)
	}
	results, arguments := s.root.paths()
	switch {
	case results > 0 && arguments > 0:
		return nil, errors.New("arguments are read when a call begins, and results when it ends: give one of them")
	case results+arguments == 0:
		return nil, errors.New("it names no argument, and not return")
	}
	s.atReturn = results > 0
	return s, nil
}

// AtReturn reports whether results are summed, which are known when a call has ended.
func (s *Sum) AtReturn() bool { return s != nil && s.atReturn }

// paths returns how many paths are results, and how many are arguments.
func (t *term) paths() (results, arguments int) {
	switch {
	case t.op >= perfevent.Add:
		r, a := t.a.paths()
		results, arguments = t.b.paths()
		return r + results, a + arguments
	case t.op == perfevent.Number:
		return 0, 0
	case t.leaf.path[0] == resultName:
		return 1, 0
	}
	return 0, 1
}

func (p *conditionParser) sum() (*term, error) {
	a, err := p.product()
	for err == nil {
		op := perfevent.Add
		if p.take("-") {
			op = perfevent.Subtract
		} else if !p.take("+") {
			break
		}
		var b *term
		b, err = p.product()
		a = &term{op: op, a: a, b: b}
	}
	return a, err
}

func (p *conditionParser) product() (*term, error) {
	a, err := p.factor()
	for err == nil && p.take("*") {
		var b *term
		b, err = p.factor()
		a = &term{op: perfevent.Multiply, a: a, b: b}
	}
	return a, err
}

// factor reads a number, a path, a sum in parentheses, or the negative of one of them.
func (p *conditionParser) factor() (*term, error) {
	if p.depth++; p.depth > deepest {
		return nil, errDeep
	}
	defer func() { p.depth-- }()
	switch {
	case p.take("("):
		a, err := p.sum()
		if err == nil && !p.take(")") {
			err = errors.New("a ) is missing")
		}
		return a, err
	case p.take("-"):
		b, err := p.factor()
		return &term{op: perfevent.Subtract, a: &term{}, b: b}, err
	}
	o, err := p.operand()
	switch {
	case err != nil:
		return nil, err
	case o.kind == textOperand:
		return nil, errors.New("a text cannot be summed")
	case o.kind == numberOperand && o.number > math.MaxInt64:
		return nil, errors.New("a number is beyond 64 bits with a sign")
	case o.kind == numberOperand:
		return &term{op: perfevent.Number, leaf: o}, nil
	}
	return &term{op: perfevent.Value, leaf: o}, nil
}

// SumsWords reports whether what is summed of the function's calls is words of 8 bytes, because debug information does not say what they are.
func (t *Target) SumsWords() bool { return t.sum != nil && t.layout != nil && !t.layout.typed }

// expression resolves a sum for a function.
func (l *layout) expression(s *Sum) (*perfevent.Expression, error) {
	e, err := l.term(s.root)
	if err != nil {
		return nil, err
	}
	if e.Terms() > perfevent.MostTerms {
		return nil, errDeep
	}
	e.AtReturn = s.atReturn
	return e, nil
}

func (l *layout) term(t *term) (*perfevent.Expression, error) {
	e := &perfevent.Expression{Op: t.op}
	var err error
	switch t.op {
	case perfevent.Number:
		e.Number = int64(t.leaf.number)
	case perfevent.Value:
		var v *found
		if v, err = l.value(t.leaf.path); err != nil {
			return nil, err
		}
		if _, _, isText, _ := v.text(); isText {
			return nil, fmt.Errorf("%s is a text, which cannot be summed", strings.Join(t.leaf.path, "."))
		}
		if v.typ != nil && (v.typ.Kind == elfsym.Pointer || v.typ.Kind == elfsym.GoWord) {
			return nil, fmt.Errorf("%s is an address, which cannot be summed", strings.Join(t.leaf.path, "."))
		}
		e.Value, err = v.operand()
		if v.typ == nil && v.result {
			e.Value.Signed = true // as what read(2) returns
		}
	default:
		if e.A, err = l.term(t.a); err == nil {
			e.B, err = l.term(t.b)
		}
	}
	return e, err
}
