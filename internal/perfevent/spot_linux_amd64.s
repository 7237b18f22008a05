#include "textflag.h"

// The function that spotAddr is about.
TEXT ·spot(SB), NOSPLIT|NOFRAME, $0-0
	PUSHQ BP
	POPQ  BP
	RET

// func spotAddr() uint64
TEXT ·spotAddr(SB), NOSPLIT, $0-8
	LEAQ ·spot(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func callSpot(times int)
TEXT ·callSpot(SB), NOSPLIT, $8-8
	MOVQ times+0(FP), CX

next:
	CALL ·spot(SB)
	DECQ CX
	JNZ  next
	RET
