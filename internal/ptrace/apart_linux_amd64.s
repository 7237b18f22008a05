//go:build linux

#include "textflag.h"

#define SYS_clone      56
#define SYS_setsid     112
#define SYS_exit_group 231

#define CLONE_VM_FILES $0x500

// func cloneCall(nr, a uintptr, b unsafe.Pointer, c uintptr, result *uintptr) (pid uintptr)
// The child has the caller's stack pointer and must not use it: it keeps what it needs in
// registers, and makes three system calls.
TEXT ·cloneCall(SB), NOSPLIT|NOFRAME, $0-48
	MOVQ  nr+0(FP), R12
	MOVQ  a+8(FP), R13
	MOVQ  b+16(FP), BX
	MOVQ  c+24(FP), R9
	MOVQ  result+32(FP), R15
	MOVQ  CLONE_VM_FILES, DI
	XORL  SI, SI
	XORL  DX, DX
	XORL  R10, R10
	XORL  R8, R8
	MOVL  $SYS_clone, AX
	SYSCALL
	TESTQ AX, AX
	JEQ   child
	MOVQ  AX, pid+40(FP)
	RET

child:
	MOVL $SYS_setsid, AX
	SYSCALL
	MOVQ R13, DI
	MOVQ BX, SI
	MOVQ R9, DX
	MOVQ R12, AX
	SYSCALL
	MOVQ AX, (R15)

exit:
	XORL DI, DI
	MOVL $SYS_exit_group, AX
	SYSCALL
	JMP  exit
