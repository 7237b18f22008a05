#include "textflag.h"

#define SYS_clone      220
#define SYS_setsid     157
#define SYS_exit_group 94

#define CLONE_VM_FILES $0x500

// func cloneCall(call *apartCall) (pid uintptr)
// The child has the caller's stack pointer and must not use it: it keeps the address of call
// in a register, and makes three system calls.
TEXT ·cloneCall(SB), NOSPLIT|NOFRAME, $0-16
	MOVD call+0(FP), R9
	MOVD CLONE_VM_FILES, R0
	MOVD ZR, R1
	MOVD ZR, R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $SYS_clone, R8
	SVC
	CBZ  R0, child
	MOVD R0, pid+8(FP)
	RET

child:
	MOVD $SYS_setsid, R8
	SVC
	MOVD 0(R9), R8
	MOVD 8(R9), R0
	MOVD 16(R9), R1
	MOVD 24(R9), R2
	MOVD 32(R9), R3
	MOVD 40(R9), R4
	SVC
	MOVD R0, 48(R9)

exit:
	MOVD ZR, R0
	MOVD $SYS_exit_group, R8
	SVC
	B    exit
