package perfevent

// A Condition says which calls are counted. The kernel evaluates it when a call begins. One that needs memory that cannot be read
// is not met.
type Condition struct {
	Op
	A, B  *Condition // of And, Or, Not
	Left  Operand
	Right *Operand // nil: Number, or Text if that is not nil
	// Signed: the numbers are compared as signed ones.
	Signed bool
	Number uint64
	Text   *TextOperand
}

// An Op is what a [Condition] does.
type Op uint8

const (
	And Op = iota
	Or
	Not
	Equal
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
)

// An Operand is a number: a word of the call, or what is in memory behind it.
type Operand struct {
	Word   int     // a register or WordStack, as in CallValues
	Loads  []int32 // offsets; each leads from an address to a word there
	Shift  int32   // bits that the number is shifted by in its word
	Size   uint8   // in bytes
	Signed bool
	Modulo int32 // the number is the remainder of a division by it, with the sign of the dividend; 0: it is as it is
}

// A TextOperand is a text that Left, which is its address, is compared with.
type TextOperand struct {
	Text string
	Len  *Operand // where the length is; nil: the text ends with a zero byte
}

// MostCompared is the longest text that can be compared with.
const MostCompared = 62
