#include "textflag.h"

#define SYS_clone 220

// func cloneThread(flags, stack, pc uintptr) (tid uintptr)
// The new thread has a stack of its own. It has the registers that Go code expects, without a
// goroutine, and calls what does not return.
TEXT ·cloneThread(SB), NOSPLIT|NOFRAME, $0-32
	MOVD flags+0(FP), R0
	MOVD stack+8(FP), R1
	MOVD pc+16(FP), R9
	MOVD ZR, R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $SYS_clone, R8
	SVC
	CBZ  R0, child
	MOVD R0, tid+24(FP)
	RET

child:
	MOVD ZR, R29
	MOVD ZR, R30
	MOVD ZR, g
	BL   (R9)
	UNDEF
