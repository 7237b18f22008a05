package calls

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"ptools/internal/perfevent"
)

// A Condition is one of the calls of a pattern, as it was written: names of arguments are not resolved.
type Condition struct {
	op          perfevent.Op
	a, b        *Condition
	left, right operand
}

// An operand is a number, a text, or a path that begins with an argument.
type operand struct {
	kind   operandKind
	number uint64
	minus  bool
	text   string
	path   []string // an argument's name or $N, and members
	modulo int32    // of a path: the remainder is meant; 0: the value itself
}

type operandKind uint8

const (
	noOperand operandKind = iota
	numberOperand
	textOperand
	pathOperand
)

// comparisons by how they are written; longer ones first.
var comparisons = []struct {
	text string
	op   perfevent.Op
}{
	{"==", perfevent.Equal}, {"!=", perfevent.NotEqual}, {"<=", perfevent.LessEqual}, {">=", perfevent.GreaterEqual},
	{"<", perfevent.Less}, {">", perfevent.Greater},
}

// A conditionParser reads a condition from front to back.
type conditionParser struct {
	rest     string
	depth    int
	compares bool // it has a comparison or !, which a list of parameters has not
}

// parseCondition reads a condition.
func parseCondition(text string) (*Condition, bool, error) {
	p := conditionParser{rest: text}
	c, err := p.either()
	if err == nil && p.next() != 0 {
		err = fmt.Errorf("%q is not expected there", p.rest)
	}
	return c, p.compares, err
}

// next returns the next byte that is no space, 0 at the end.
func (p *conditionParser) next() byte {
	if p.rest = strings.TrimLeft(p.rest, " \t"); p.rest == "" {
		return 0
	}
	return p.rest[0]
}

// take reads a sign if it is next.
func (p *conditionParser) take(sign string) bool {
	p.next()
	rest, ok := strings.CutPrefix(p.rest, sign)
	p.rest = rest
	return ok
}

func (p *conditionParser) either() (*Condition, error) {
	a, err := p.both()
	for err == nil && p.take("||") {
		var b *Condition
		b, err = p.both()
		a = &Condition{op: perfevent.Or, a: a, b: b}
	}
	return a, err
}

func (p *conditionParser) both() (*Condition, error) {
	a, err := p.one()
	for err == nil && p.take("&&") {
		var b *Condition
		b, err = p.one()
		a = &Condition{op: perfevent.And, a: a, b: b}
	}
	return a, err
}

// deepest bounds how deep conditions are nested.
const deepest = 32

var errDeep = errors.New("it is nested too deep")

// one reads a negation, a condition in parentheses, or a comparison. A value alone is compared with 0.
func (p *conditionParser) one() (*Condition, error) {
	if p.depth++; p.depth > deepest {
		return nil, errDeep
	}
	defer func() { p.depth-- }()
	switch next := p.next(); {
	case next == '!' && !strings.HasPrefix(p.rest, "!="):
		p.rest, p.compares = p.rest[1:], true
		a, err := p.one()
		return &Condition{op: perfevent.Not, a: a}, err
	case next == '(':
		p.rest = p.rest[1:]
		a, err := p.either()
		if err == nil && !p.take(")") {
			err = errors.New("a ) is missing")
		}
		return a, err
	}
	c := &Condition{op: perfevent.NotEqual, right: operand{kind: numberOperand}}
	var err error
	if c.left, err = p.value(); err != nil {
		return nil, err
	}
	for _, comparison := range comparisons {
		if p.take(comparison.text) {
			p.compares = true
			c.op = comparison.op
			c.right, err = p.value()
			break
		}
	}
	if err == nil && c.left.kind != pathOperand {
		if c.right.kind != pathOperand {
			return nil, errors.New("a comparison is of an argument, as in size > 1m")
		}
		c.left, c.right, c.op = c.right, c.left, turned(c.op)
	}
	return c, err
}

// turned returns the comparison of exchanged operands.
func turned(op perfevent.Op) perfevent.Op {
	switch op {
	case perfevent.Less:
		return perfevent.Greater
	case perfevent.LessEqual:
		return perfevent.GreaterEqual
	case perfevent.Greater:
		return perfevent.Less
	case perfevent.GreaterEqual:
		return perfevent.LessEqual
	}
	return op
}

// value reads an operand, or the remainder of one.
func (p *conditionParser) value() (operand, error) {
	o, err := p.operand()
	if err != nil || o.kind != pathOperand || !p.take("%") {
		return o, err
	}
	p.compares = true
	n, err := p.number()
	if err == nil && (n.minus || n.number == 0 || n.number > math.MaxInt32) {
		err = errors.New("% wants a number from 1 to 2147483647")
	}
	o.modulo = int32(n.number)
	return o, err
}

// operand reads a number, a text or a path.
func (p *conditionParser) operand() (operand, error) {
	switch c := p.next(); {
	case c == '"':
		return p.quoted()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case c == '$' || isName(c):
		return p.path()
	case c == 0:
		return operand{}, errors.New("an argument or a number is missing at its end")
	}
	return operand{}, fmt.Errorf("an argument or a number is expected at %q", p.rest)
}

func isName(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// word cuts off the letters and digits that are next.
func (p *conditionParser) word() string {
	n := 0
	for n < len(p.rest) && (isName(p.rest[n]) || p.rest[n] >= '0' && p.rest[n] <= '9') {
		n++
	}
	word := p.rest[:n]
	p.rest = p.rest[n:]
	return word
}

func (p *conditionParser) quoted() (operand, error) {
	prefix, err := strconv.QuotedPrefix(p.rest)
	if err != nil {
		return operand{}, errors.New("a text does not end")
	}
	p.rest = p.rest[len(prefix):]
	text, err := strconv.Unquote(prefix)
	if len(text) > perfevent.MostCompared {
		return operand{}, fmt.Errorf("texts are compared up to %d bytes", perfevent.MostCompared)
	}
	if err == nil && strings.Contains(text, "\x00") {
		err = errors.New("a text has a zero byte")
	}
	return operand{kind: textOperand, text: text}, err
}

// number reads a number, which may end with k, m or g.
func (p *conditionParser) number() (operand, error) {
	o := operand{kind: numberOperand, minus: p.take("-")}
	word := p.word()
	digits, factor := word, uint64(1)
	if !strings.HasPrefix(word, "0x") && word != "" {
		switch word[len(word)-1] {
		case 'k', 'K':
			factor = 1 << 10
		case 'm', 'M':
			factor = 1 << 20
		case 'g', 'G':
			factor = 1 << 30
		}
		if factor > 1 {
			digits = word[:len(word)-1]
		}
	}
	n, err := strconv.ParseUint(digits, 0, 64)
	switch {
	case strings.HasPrefix(p.rest, "."):
		return o, fmt.Errorf("%s%s…: only whole numbers are compared", word, p.rest[:1])
	case err != nil || n > ^uint64(0)/factor || o.minus && n*factor > 1<<63:
		return o, fmt.Errorf("%q is no number, as 100, 0x1f, 64k or 1m", word)
	}
	if o.number = n * factor; o.minus {
		o.number = -o.number
	}
	return o, nil
}

// path reads an argument and its members. true, false, and nil are numbers.
func (p *conditionParser) path() (operand, error) {
	o := operand{kind: pathOperand}
	first := ""
	if p.take("$") {
		first = "$"
		p.compares = true
	}
	first += p.word()
	switch first {
	case "true":
		return operand{kind: numberOperand, number: 1}, nil
	case "false", "nil", "NULL", "nullptr":
		return operand{kind: numberOperand}, nil
	case "$":
		return o, errors.New("$ wants the number of an argument, as $1")
	}
	o.path = []string{first}
	for {
		if !p.take(".") && !p.take("->") {
			return o, nil
		}
		member := p.word()
		if member == "" {
			return o, fmt.Errorf("the name of a member is missing behind %s", strings.Join(o.path, "."))
		}
		o.path = append(o.path, member)
	}
}
