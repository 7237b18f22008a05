#include "textflag.h"

// bellHandler
// The signal handler of the doorbell. That it ran is all that is wanted of it.
TEXT bellHandler<>(SB), NOSPLIT|NOFRAME, $0
	RET

// func bellAddrs() (handler, restorer uintptr)
TEXT ·bellAddrs(SB), NOSPLIT, $0-16
	MOVD $bellHandler<>(SB), R0
	MOVD R0, handler+0(FP)
	MOVD ZR, restorer+8(FP)
	RET
