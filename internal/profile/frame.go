package profile

// Kind says what the program counter of an [Addr] is.
type Kind uint8

const (
	// Exact is the address of the instruction that was about to run.
	Exact Kind = iota
	// Return is a return address: the call is the instruction before it.
	Return
	// Trampoline is the address of the code that a signal handler returns to.
	Trampoline
	// note is not an address: PC is the index of a name in the profile.
	note
)

// KindOf says what the program counter of a frame is, which may be a return address, or where a signal handler returns to.
func KindOf(isReturn, isSignal bool) Kind {
	switch {
	case isReturn:
		return Return
	case isSignal:
		return Trampoline
	}
	return Exact
}

// Addr is one raw level of a stack.
type Addr struct {
	PC   uint64
	Kind Kind
	// Era tells code from other code that was at the same address before or after it. What the numbers mean is known to
	// the Resolver.
	Era uint32
}

// Frame is one function at an address. Inlining gives one address several.
type Frame struct {
	Func    string // demangled name; empty if unknown
	Raw     string // the same as the file has it: mangled
	Place   string // stands for a name that is unknown, in formats that have no addresses: libfoo.so+0x11e0
	File    string // source file; empty if unknown
	Line    int    // line in File; 0 if unknown
	Object  string // path of the file that holds the code; empty if anonymous
	Inlined bool   // the next frame is not its caller but the function that it was inlined into
}

// Mapping is a file as it is mapped in an address space.
type Mapping struct {
	Start, Limit uint64 // run-time addresses, Limit exclusive
	Offset       uint64 // file offset of Start
	Path         string
	BuildID      string // hexadecimal; empty if the file has none
}

// A Resolver knows the code of one address space.
type Resolver interface {
	// Resolve appends to dst the functions at a, innermost first. It returns
	// the mapping that holds a, or the zero Mapping if a is in no file. For
	// code without a name it may append a frame without one, or with its Place. If it knows of
	// no code at a, it appends nothing and returns the zero Mapping.
	Resolve(a Addr, dst []Frame) ([]Frame, Mapping)
}

// Value names one of the values of a sample.
type Value uint8

const (
	Samples    Value = iota // times seen
	CPU                     // nanoseconds on a processor
	Wall                    // nanoseconds passed
	Ready                   // nanoseconds that a thread waited for a processor, a part of Wall
	Goroutines              // nanoseconds passed for goroutines
	Sum                     // of Calls: what was summed
)

var valueNames = [...]string{Samples: "samples", CPU: "cpu", Wall: "wall", Ready: "ready", Goroutines: "goroutines", Sum: "sum"}

// String returns the name that [ParseValue] takes.
func (v Value) String() string { return valueNames[v] }

// ParseValue is the inverse of String for what a profile of time has; ok is false for an unknown name.
func ParseValue(name string) (v Value, ok bool) {
	for v, s := range valueNames[:Sum] {
		if s == name {
			return Value(v), true
		}
	}
	return 0, false
}

// Values is what one cell counts.
type Values struct {
	Samples int64
	CPU     int64 // nanoseconds
	Wall    int64 // nanoseconds
	Ready   int64 // nanoseconds of Wall in which the thread waited for a processor
	// Goroutines is nanoseconds that goroutines spent, in cells of theirs (Profile.Goroutines). These have nothing else.
	Goroutines int64
	Sum        int64 // of Calls
}

func (v *Values) add(w Values) {
	v.Samples += w.Samples
	v.CPU += w.CPU
	v.Wall += w.Wall
	v.Ready += w.Ready
	v.Goroutines += w.Goroutines
	v.Sum += w.Sum
}

func (v Values) of(kind Value) int64 {
	switch kind {
	case CPU:
		return v.CPU
	case Wall:
		return v.Wall
	case Ready:
		return v.Ready
	case Goroutines:
		return v.Goroutines
	case Sum:
		return v.Sum
	}
	return v.Samples
}
