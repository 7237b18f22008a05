package unwind

// A codeReader reads the code of a process: code of files through their Tables, other code in memory. It
// remembers call sites.
type codeReader struct {
	code   Code
	other  *view // memory of code that is in no file
	calls  [callCache]callsite
	buf    [codeWindow]byte
	stacks uint64 // number of stacks that have been unwound: the clock by which entries for code made at run time age
}
