package perfevent

// Offsets in a program's context, struct pt_regs.
const (
	ctxIP   = 8 * 16
	savedSP = 8 * 19
)

// redZone is how many bytes below its stack pointer a function may use.
const redZone = 128

// tickerRegs selects the registers of a sample: all but DS, ES, FS and GS (arch/x86/include/uapi/asm/perf_regs.h).
const tickerRegs = 0xff0fff

// Places of the stack pointer and the program counter in a sample's registers.
const (
	userSP = 7
	userPC = 8
)

// threadPointer is the member of struct task_struct that has the thread pointer.
const threadPointer = "thread.fsbase"
