package perfevent

import "time"

// CallReports says which calls a [Calls] reports one by one, and what of them.
type CallReports struct {
	Each   bool          // all of them
	Least  time.Duration // those that take at least this long; 0: none
	Values bool          // with registers and memory, at their beginning and end
	Stack  bool          // with the registers and a copy of the stack at their end
	// StackSize is how much of the stack is copied, in bytes; 0: UsualStack. It is at most MostStack.
	StackSize int
	Caller    Caller // whose number is reported
	Times     Times
}

// Times is which times of a call are reported.
type Times uint8

const (
	LengthOnly Times = iota
	WithCPU          // also the processor time, of calls other than Go's, where the kernel's types (BTF) are known
)

// Sizes of copies of stacks.
const (
	UsualStack = 16 << 10
	MostStack  = 256 << 10
)

// A Caller is what has made a call.
type Caller uint8

const (
	ByThread    Caller = iota
	ByGoroutine        // and the thread, too: where Copies say where the number is
)

// any reports whether calls are reported at all.
func (r *CallReports) any() bool { return r.Each || r.Least > 0 }

// detailed reports whether more is reported of a call than its time.
func (r *CallReports) detailed() bool {
	return r.any() && (r.Values || r.Stack || r.Caller == ByGoroutine)
}

// A CallReport is a call that has ended, or, of a function whose ends are not seen, one that has begun. What it points to is valid
// until the function that is told of it returns.
type CallReport struct {
	Function int
	TID      int
	PID      int // in a family; else 0
	Length   time.Duration
	CPU      time.Duration // of Length, on processors; less than 0: not known
	End      time.Duration // when it ended, on the clock of [Now]
	Values   *CallValues   // nil if they were not asked for
	Stack    []byte        // from the stack pointer in Values on
}

// Words of [CallValues]. The registers, from 0 on, are in the order of struct pt_regs: r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8,
// rax, rcx, rdx, rsi, rdi.
const (
	WordRegs  = 15
	WordSlot  = 15 // address of the return address
	WordStack = 16 // eight words behind the return address
	WordLoads = 24 // two for each load

	ResultIP    = 15 // in Result: where the registers were read
	ResultSP    = 16
	ResultLoads = 20 // two for each load
)

// How many loads and texts a function has. Those of the result come after those of the beginning.
const (
	EntryLoads  = 4
	EntryTexts  = 6
	ReturnLoads = 2
	ReturnTexts = 2
)

// MostText is how many bytes of a text are copied.
const MostText = 64

// CopyGoroutine is the number of the copy that has the number of the goroutine.
const CopyGoroutine = 14

// StatusStack is the number of the status of the words from WordStack on.
const StatusStack = 15

// CallValues are the values of a call, as the program writes them. A status is 0 if memory could not be read, and that of a text that
// ends with a zero byte is its length with that.
type CallValues struct {
	start, group, amount, known   uint64 // with away and begunBy the words of a call that has not ended
	away, begunBy                 uint64
	function, thread, length, end uint64
	flags, cpu                    uint64
	goroutine                     [2]uint64 // its number
	Status                        [16]uint8 // of each Copy of [Copies], and StatusStack: see there
	Words                         [32]uint64
	Result                        [24]uint64
	Texts                         [EntryTexts + ReturnTexts][72]byte
}

// Flags of CallValues.
const (
	flagTail  = 1 << 0
	flagBegun = 1 << 1
)

// Tail reports whether the call ended by a jump to another function, whose result is not known yet.
func (v *CallValues) Tail() bool { return v.flags&flagTail != 0 }

// Begun reports whether the call has only begun.
func (v *CallValues) Begun() bool { return v.flags&flagBegun != 0 }

// Start returns when the call has begun, on the clock of [Now]. With its length that is exact.
func (v *CallValues) Start() time.Duration { return time.Duration(v.start) }

// Goroutine returns the descriptor of the goroutine that has made the call, of a Go function (r14).
func (v *CallValues) Goroutine() uint64 { return v.Words[1] }

// GoroutineNumber returns the number of that goroutine, 0 if it is not known.
func (v *CallValues) GoroutineNumber() uint64 { return v.goroutine[0] }

// Amount returns the number that is summed, if there is one.
func (v *CallValues) Amount() (int64, bool) { return int64(v.amount), v.known != 0 }

// A Copy says what is copied of the memory of a call. The zero Copy copies nothing.
type Copy uint64

// Kinds of copies.
const (
	copyLoad  = 1 // two words
	copyText  = 2 // up to a zero byte
	copyBytes = 3 // as many bytes as a word says
)

// LoadAt copies two words at an offset from what a word points to.
func LoadAt(word int, off int32) Copy { return copyLoad | Copy(word)<<8 | Copy(uint32(off))<<32 }

// TextAt copies a text that ends with a zero byte.
func TextAt(word int, off int32) Copy { return copyText | Copy(word)<<8 | Copy(uint32(off))<<32 }

// BytesAt copies as many bytes as the word length says.
func BytesAt(word int, length int) Copy { return copyBytes | Copy(word)<<8 | Copy(length)<<16 }

// Copies are what is copied for each call of a function: first the loads and texts of the beginning, then those of the result. A word
// of the latter is one of CallValues.Result.
type Copies [EntryLoads + EntryTexts + ReturnLoads + ReturnTexts + 2]Copy

// Where the parts of Copies begin.
const (
	FirstEntryText  = EntryLoads
	FirstReturnLoad = EntryLoads + EntryTexts
	FirstReturnText = FirstReturnLoad + ReturnLoads
)
