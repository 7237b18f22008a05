package unwind

// A codeReader looks at the code of a process: of files through their Tables, else in memory. What it has seen of
// call sites it remembers.
type codeReader struct {
	code   Code
	other  *view // memory of code that is in no file
	calls  [callCache]callsite
	buf    [codeWindow]byte
	stacks uint64 // how many stacks have been unwound: the clock by which code made at run time ages
}
