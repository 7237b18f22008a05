// Package unwind finds the call stack of a thread of another process from its
// registers, a copy of its stack, and the files mapped into it. The thread itself is
// not needed: it may run on while its stack is unwound.
//
// # Ways out of a function
//
// For each frame, the first of these that applies gives the caller's registers:
//
//   - the table of the Go linker (pclntab), which stripped programs have too: the size
//     of the frame at each instruction, and the runtime's functions that change stacks;
//   - call frame information: .eh_frame through the search table of .eh_frame_hdr, or
//     read through once where there is none; then .debug_frame, of the file itself or
//     its separate debug file;
//   - the bytes of a signal trampoline, for C libraries that describe theirs nowhere;
//   - the code between the program counter and the function's return;
//   - the frame pointer;
//   - the code from a prologue in front of the program counter, for functions that never return;
//   - for code made at run time, a return address above from which tables lead to the end;
//   - for an innermost frame only, a search of the stack for a return address.
//
// The frame pointer is not taken where the code shows that the function sets none and moves the stack pointer by an unknown
// size: it is that of a caller, and the next one would be skipped. The stack is cut there.
//
// The last five are guesses. A guess is taken only if it leads to an address in
// executable code behind a call instruction, from code made at run time to other such
// code, or to the bottom of a stack. Counts has the number of guesses.
//
// # Laziness and caches
//
// A Table compiles the call frame program of a function into rows when a stack first
// needs it. A row is then found by two binary searches without a lock. An Unwinder
// remembers the way out of a function for each program counter that it has seen. So a
// common frame of a profile costs one look-up of a mapping, one of a cache, and a few
// loads.
//
// # Ends
//
// Every stack ends with a reason. Whole means that the last frame has no caller: it
// is the start of a program, thread or goroutine. A caller's stack pointer must be
// above its callee's, unless the stack is known to change (a signal on an alternate
// stack, a goroutine on the system stack). The numbers of changes and frames are
// bounded, so that no contents of memory can make an unwinding long.
//
// # Untrusted input
//
// Files and memory belong to the target. Every parser here is total: corrupt input
// costs bounded time and memory, and yields no row. The stack is cut there.
package unwind
