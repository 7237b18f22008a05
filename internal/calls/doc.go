// Package calls finds out where a function begins and ends, so that its calls can be counted and timed by probes that
// harm nothing, and does that.
//
// # Plans
//
// A [Plan] has the places of a function's probes. The probe of the entry is at the first instruction that the kernel
// emulates, if one is in the function's first block, to whose inside no jump leads, while the place of the return address is
// known. There a probe costs a twentieth of one at an instruction that has to be single-stepped. The function's ends are its return instructions,
// and its jumps to other functions (tail calls). No return address is ever replaced: programs that move their stacks,
// unwind them, or switch between them run as without probes.
//
// Instructions are found by decoding the function from its first byte to its last. A probe is only planned at an
// instruction that the flow of control reaches, or, where tables and unwinders lead to code that nothing else reaches, at
// one that fits everything else in the function.
//
// # Calls
//
// A call is known by the address of its return address. In a Go program it is known by its goroutine and the distance of
// that address from the end of the stack, because Go moves stacks. So a return is that of the call which it ends, whatever
// threads, coroutines, recursion, exceptions and panics do. A call that never returns does not confuse those after it.
package calls
