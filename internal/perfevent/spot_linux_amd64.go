package perfevent

// spotEnd is where the return instruction of the function at spotAddr is. Its first instruction is a push, which the kernel emulates. It
// steps the return.
const spotEnd = 2

// spotAddr returns the address of a function that does nothing.
func spotAddr() uint64

// callSpot calls it a number of times.
func callSpot(times int)
