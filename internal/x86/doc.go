// Package x86 decodes x86-64 instructions, and says how a thread gets past one that it
// cannot run in its own place. Bytes and registers go in, and registers or other bytes
// come out. The package knows no process. Its caller gives it access to the memory that an
// instruction needs.
//
// A [Plan] is one of three [Kind]s:
//
//   - [Emulate]: the effect of the instruction on registers, flags and memory is
//     computed, and the thread continues behind it;
//   - [Displace]: the thread runs a copy of the instruction in a scratch slot. Most
//     copies end in a jump back and need no single step ([Copy].Direct). Branches,
//     calls and system calls are stepped, and [Plan.Exit] corrects what is wrong
//     because they have run at another address;
//   - [StepAll]: the instruction can only run in its own place (far branches, mov ss,
//     xbegin, the program's own int3).
//
// # Limits
//
// The x87 instruction pointer that fnstenv and fxsave store is the address of
// the copy if the last x87 instruction ran displaced. Emulation ignores memory
// protection keys. It also ignores shadow stacks: emulated calls and returns would
// not change such a stack.
package x86
