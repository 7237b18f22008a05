package perfevent

import (
	"bytes"
	"math/big"
)

// CallGroups says how the calls of each function are told apart, and whether a number of them is summed.
type CallGroups struct {
	Most int  // keys of all functions together; 0: calls are not told apart
	Sum  bool // a number is summed
}

// MostGroups is how many keys a [Calls] may have.
const MostGroups = 1 << 14

// A CallKey is what calls are told apart by.
type CallKey struct {
	Kind     KeyKind
	Value    Operand  // of KeyNumber: the number; of KeyText: its address
	Len      *Operand // where the length of a text is; nil: it ends with a zero byte
	AtReturn bool     // the values are those of the end of the call
}

// A KeyKind is what a [CallKey] is.
type KeyKind uint8

const (
	KeyNumber KeyKind = iota
	KeyText
	KeyThread
	KeyProcess // in a family
	KeyCaller  // the return address
	KeyNone    // it is not known of any call
)

// MostKeyText is how many bytes of a text tell calls apart.
const MostKeyText = 32

// An Expression is a number of a call, computed in 64 bits with a sign.
type Expression struct {
	Op       ExpressionOp
	A, B     *Expression // of the operations
	Value    Operand
	Number   int64
	AtReturn bool // of the whole: the values are those of the end of the call
}

// An ExpressionOp is what an [Expression] is.
type ExpressionOp uint8

const (
	Number ExpressionOp = iota
	Value
	Add
	Subtract
	Multiply
)

// MostTerms bounds how many intermediate results an [Expression] has at a time.
const MostTerms = 8

// Terms returns how many intermediate results there are at a time.
func (e *Expression) Terms() int {
	if e.Op < Add {
		return 0
	}
	return max(e.A.Terms(), 1+e.B.Terms())
}

// A CallSum is the sum of a number over calls. It has no overflow.
type CallSum struct {
	Calls uint64 // that the sum is of: the number of others could not be read, or has more than 64 bits
	high  int64  // in units of 1<<32
	low   uint64
}

// Total returns the sum.
func (s *CallSum) Total() *big.Int {
	n := new(big.Int).Lsh(big.NewInt(s.high), 32)
	return n.Add(n, new(big.Int).SetUint64(s.low))
}

// Mean returns the mean of the numbers, 0 if there are none.
func (s *CallSum) Mean() float64 {
	if s.Calls == 0 {
		return 0
	}
	mean, _ := new(big.Rat).SetFrac(s.Total(), new(big.Int).SetUint64(s.Calls)).Float64()
	return mean
}

// AddNumber adds a number.
func (s *CallSum) AddNumber(n int64) {
	s.Calls++
	s.high += n >> 32
	s.low += uint64(uint32(n))
}

// Add adds another sum.
func (s *CallSum) Add(o *CallSum) {
	s.Calls, s.high, s.low = s.Calls+o.Calls, s.high+o.high, s.low+o.low
}

// Less returns the sum without a part of it.
func (s *CallSum) Less(o *CallSum) CallSum {
	return CallSum{s.Calls - o.Calls, s.high - o.high, s.low - o.low}
}

// A CallGroup is a key that was met.
type CallGroup struct {
	Function int
	Unknown  bool // the value could not be read, or is not known
	Number   uint64
	Length   int // of a text; MostKeyText+1: it is longer
	Text     [MostKeyText]byte
}

// Comm returns the name that the thread had at the first call of the group, if Number is that of the thread, or of the process whose first
// thread it is. Otherwise it is "".
func (g *CallGroup) Comm() string {
	name, _, _ := bytes.Cut(g.Text[8:24], []byte{0})
	return string(name)
}
