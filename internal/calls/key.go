package calls

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ptools/internal/elfsym"
	"ptools/internal/perfevent"
)

// A Key is what calls are told apart by.
type Key struct {
	Text string // as it was written
	kind keyKind
	path []string
}

type keyKind uint8

const (
	byArgument keyKind = iota
	byReturn
	byThread
	byProcess
	byGoroutine
	byCaller
	byStack
	byPath
)

// ByStack is the key of calls that are told apart by their stacks.
func ByStack() *Key { return &Key{Text: "stack", kind: byStack} }

// ByPath is the key of calls that are told apart by the functions on their stacks that are counted too. See [Watch.Tree].
func ByPath() *Key { return &Key{Text: "path", kind: byPath} }

// resultName begins the path of a result.
const resultName = "return"

// ParseKey reads a key: an argument or a member of one, return, thread, goroutine, caller or stack.
func ParseKey(text string) (*Key, error) {
	k := &Key{Text: text}
	switch text {
	case "thread":
		k.kind = byThread
		return k, nil
	case "goroutine":
		k.kind = byGoroutine
		return k, nil
	case "caller":
		k.kind = byCaller
		return k, nil
	case "stack":
		return ByStack(), nil
	case "process":
		k.kind = byProcess
		return k, nil
	}
	p := conditionParser{rest: text}
	o, err := p.operand()
	switch {
	case err != nil:
		return nil, err
	case p.next() != 0:
		return nil, fmt.Errorf("%q is not expected there", p.rest)
	case o.kind != pathOperand:
		return nil, errors.New("it is no argument")
	}
	if k.path = o.path; k.path[0] == resultName {
		k.kind = byReturn
	}
	return k, nil
}

// Stack reports whether calls are told apart by their stacks, or by what of them is counted.
func (k *Key) Stack() bool { return k != nil && (k.kind == byStack || k.kind == byPath) }

// isPath reports whether calls are told apart by the functions on their stacks that are counted too.
func (k *Key) isPath() bool { return k != nil && k.kind == byPath }

// values reports whether arguments or results have to be known.
func (k *Key) values() bool { return k != nil && (k.kind == byArgument || k.kind == byReturn) }

// AtReturn reports whether the key is a result, which is known when a call has ended.
func (k *Key) AtReturn() bool { return k != nil && k.kind == byReturn }

// inKernel reports whether the kernel tells the calls apart.
func (k *Key) inKernel() bool { return k != nil && !k.Stack() }

// A resolvedKey is the key of a function.
type resolvedKey struct {
	kernel    *perfevent.CallKey
	typ       *elfsym.Type // of the value; nil: not known
	goroutine bool         // the value is its number
}

// key finds out what the key of a function is.
func (l *layout) key(k *Key) (*resolvedKey, error) {
	kernel := &perfevent.CallKey{}
	switch k.kind {
	case byThread:
		kernel.Kind = perfevent.KeyThread
		return &resolvedKey{kernel: kernel}, nil
	case byProcess:
		kernel.Kind = perfevent.KeyProcess
		return &resolvedKey{kernel: kernel}, nil
	case byCaller:
		kernel.Kind = perfevent.KeyCaller
		return &resolvedKey{kernel: kernel}, nil
	}
	v, err := l.value(k.path)
	if err != nil {
		return nil, err
	}
	kernel.AtReturn = v.result
	var isText bool
	if kernel.Value, kernel.Len, isText, err = v.text(); isText {
		kernel.Kind = perfevent.KeyText
	} else if v.typ != nil && v.typ.Kind == elfsym.GoInterface && len(v.parts) == 2 {
		kernel.Value, err = v.word(0)
	} else if err == nil {
		kernel.Value, err = v.operand()
	}
	return &resolvedKey{kernel: kernel, typ: v.typ}, err
}

// value follows a path that begins with an argument, or with return.
func (l *layout) value(path []string) (*found, error) {
	if path[0] != resultName {
		return l.find(path)
	}
	v, rest, err := l.returned(path[1:])
	for _, member := range rest {
		if err == nil {
			err = v.member(member)
		}
	}
	if err == nil {
		err = v.refer()
	}
	return v, err
}

// returned returns a result: of several, that whose number from 1 on is next in the path.
func (l *layout) returned(path []string) (*found, []string, error) {
	n := 1
	switch len(l.results) {
	case 0:
		return nil, nil, errors.New("it returns nothing that is known")
	case 1:
	default:
		if len(path) > 0 {
			n, _ = strconv.Atoi(path[0])
			path = path[1:]
		} else {
			n = 0
		}
		if n < 1 || n > len(l.results) {
			return nil, nil, fmt.Errorf("it returns %d values: return.1 to return.%d", len(l.results), len(l.results))
		}
	}
	a := &l.results[n-1]
	return &found{name: resultName, typ: a.typ, parts: a.parts, result: true}, path, nil
}

// word is one of the words that a value is passed in.
func (v *found) word(i int) (perfevent.Operand, error) {
	if v.base != nil || v.parts[i].word == unread {
		return perfevent.Operand{}, v.unreadable()
	}
	return perfevent.Operand{Word: v.parts[i].word, Size: 8}, nil
}

// largestSmall is the first number of an unknown type that is printed as an address. One of four bytes may be a negative number.
const largestSmall = 1 << 31

// keyText returns the text of a key that was met.
func (t *Target) keyText(g *perfevent.CallGroup) string {
	typ := t.by.typ
	switch {
	case g.Unknown:
		return unknown
	case t.by.goroutine:
		return goroutineName(g.Number)
	case t.by.kernel.Kind == perfevent.KeyText:
		return quote(g.Text[:min(g.Length, perfevent.MostKeyText)], g.Length > perfevent.MostKeyText)
	case typ == nil && g.Number < largestSmall || typ == nil && int64(g.Number) < 0 && int64(g.Number) > -4096:
		return strconv.FormatInt(int64(g.Number), 10)
	case typ == nil:
		return hexWord(g.Number)
	case typ.Kind == elfsym.GoInterface:
		return strings.TrimSuffix(t.types.describe(typ, g.Number, 0), "(0x0)")
	}
	return scalarText(typ, g.Number)
}
