//go:build linux

#include "textflag.h"

#define SYS_clone 56

// func cloneThread(flags, stack, pc uintptr) (tid uintptr)
// The new thread has a stack of its own. It has the registers that Go code expects, without a
// goroutine, and calls what does not return.
TEXT ·cloneThread(SB), NOSPLIT|NOFRAME, $0-32
	MOVQ  flags+0(FP), DI
	MOVQ  stack+8(FP), SI
	MOVQ  pc+16(FP), R12
	XORL  DX, DX
	XORL  R10, R10
	XORL  R8, R8
	MOVL  $SYS_clone, AX
	SYSCALL
	TESTQ AX, AX
	JEQ   child
	MOVQ  AX, tid+24(FP)
	RET

child:
	XORL  BP, BP
	XORL  R14, R14
	XORPS X15, X15
	CALL  R12
	INT   $3
