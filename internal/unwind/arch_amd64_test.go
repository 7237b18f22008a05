package unwind

// trampoline is the name of the code that signal handlers return to.
const trampoline = "__restore_rt"
