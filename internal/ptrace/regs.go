package ptrace

import "ptools/internal/machine"

// Regs are the registers of a stopped thread. Its own methods are about what the kernel does
// with registers: system calls, signal frames, samples. Package machine has the methods about the
// processor.
type Regs struct{ machine.Regs }
