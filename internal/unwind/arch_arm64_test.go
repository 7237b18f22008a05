package unwind

// trampoline is the name of the code that signal handlers return to.
const trampoline = "__kernel_rt_sigreturn"

// vectorRegister is the number of a register that is not kept.
const vectorRegister = 40
