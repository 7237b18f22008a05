// Package x86 decodes x86-64 instructions and says how a thread gets past one that it
// cannot run in its own place. Bytes and registers go in, registers or other bytes
// come out: it knows no process, and what little memory an instruction needs it is given.
//
// A [Plan] is one of three [Kind]s:
//
//   - [Emulate]: the effect of the instruction on registers, flags and memory is
//     computed, and the thread continues behind it;
//   - [Displace]: the thread runs a copy of the instruction in a scratch slot. Most
//     copies end in a jump back and need no single step ([Copy].Direct); branches,
//     calls and system calls are stepped, and [Plan.Exit] puts right what they got
//     wrong by running elsewhere;
//   - [StepAll]: what can only run in its own place (far branches, mov ss, xbegin,
//     the program's own int3).
//
// # Limits
//
// The x87 instruction pointer that fnstenv and fxsave store is the address of
// the copy if the last x87 instruction ran displaced. Memory protection keys are
// not looked at when an instruction is emulated. Shadow stacks are not known:
// emulated calls and returns would leave such a stack behind.
package x86
