//go:build linux

#include "textflag.h"

#define SYS_clone      56
#define SYS_setsid     112
#define SYS_exit_group 231

#define CLONE_VM_FILES $0x500

// func cloneCall(call *apartCall) (pid uintptr)
// The child has the caller's stack pointer and must not use it: it keeps the address of call
// in a register, and makes three system calls.
TEXT ·cloneCall(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ  call+0(FP), R12
	MOVQ  CLONE_VM_FILES, DI
	XORL  SI, SI
	XORL  DX, DX
	XORL  R10, R10
	XORL  R8, R8
	MOVL  $SYS_clone, AX
	SYSCALL
	TESTQ AX, AX
	JEQ   child
	MOVQ  AX, pid+8(FP)
	RET

child:
	MOVL $SYS_setsid, AX
	SYSCALL
	MOVQ 0(R12), AX
	MOVQ 8(R12), DI
	MOVQ 16(R12), SI
	MOVQ 24(R12), DX
	MOVQ 32(R12), R10
	MOVQ 40(R12), R8
	SYSCALL
	MOVQ AX, 48(R12)

exit:
	XORL DI, DI
	MOVL $SYS_exit_group, AX
	SYSCALL
	JMP  exit
