package pctl

// Registers are the user registers of a thread, in the layout of the kernel's
// struct user_regs_struct. The methods give what every machine has.
type Registers struct {
	R15, R14, R13, R12, Rbp, Rbx, R11, R10 uint64
	R9, R8, Rax, Rcx, Rdx, Rsi, Rdi        uint64

	// OrigRax is the number of the system call the thread is in, or all ones.
	OrigRax uint64

	Rip, Cs, Eflags, Rsp, Ss       uint64
	FsBase, GsBase, Ds, Es, Fs, Gs uint64
}

// callWords returns the registers in the order in which calls.EntryArguments takes them.
func (r *Registers) callWords() [15]uint64 {
	return [...]uint64{r.R15, r.R14, r.R13, r.R12, r.Rbp, r.Rbx, r.R11, r.R10, r.R9, r.R8, r.Rax, r.Rcx, r.Rdx, r.Rsi, r.Rdi}
}
