package unwind

// trampoline is the name of the code that signal handlers return to.
const trampoline = "__kernel_rt_sigreturn"
