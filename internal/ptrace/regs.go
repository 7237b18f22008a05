package ptrace

// Regs are the user registers of a stopped x86-64 thread, in the layout of the
// kernel's struct user_regs_struct. On other machines they are never read.
type Regs struct {
	R15, R14, R13, R12, Rbp, Rbx, R11, R10 uint64
	R9, R8, Rax, Rcx, Rdx, Rsi, Rdi        uint64

	// OrigRax is the number of the system call the thread is in, or all ones.
	OrigRax uint64

	Rip, Cs, Eflags, Rsp, Ss       uint64
	FsBase, GsBase, Ds, Es, Fs, Gs uint64
}
