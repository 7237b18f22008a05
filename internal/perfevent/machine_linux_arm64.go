package perfevent

// Offsets in a program's context, struct pt_regs.
const (
	ctxIP   = 8 * 32
	savedSP = 8 * 31
)

// redZone is how many bytes below its stack pointer a function may use.
const redZone = 0

// tickerRegs selects the registers of a sample: x0 to x30, sp and pc (arch/arm64/include/uapi/asm/perf_regs.h).
const tickerRegs = 1<<33 - 1

// Places of the stack pointer and the program counter in a sample's registers.
const (
	userSP = 31
	userPC = 32
)

// threadPointer is the member of struct task_struct that has the thread pointer. It is not up to date while the thread runs.
const threadPointer = "thread.uw.tp_value"
