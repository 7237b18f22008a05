#include "textflag.h"

// bellHandler
// The signal handler of the doorbell. That it ran is all that is wanted of it.
TEXT bellHandler<>(SB), NOSPLIT|NOFRAME, $0
	RET

// bellReturn
// rt_sigreturn(2), to which the handler returns.
TEXT bellReturn<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ $15, AX
	SYSCALL
	INT  $3

// func bellAddrs() (handler, restorer uintptr)
TEXT ·bellAddrs(SB), NOSPLIT, $0-16
	LEAQ bellHandler<>(SB), AX
	MOVQ AX, handler+0(FP)
	LEAQ bellReturn<>(SB), AX
	MOVQ AX, restorer+8(FP)
	RET
