package ptrace

// bellFlags are the flags of the bell's handler that this machine needs: SA_RESTORER, because the kernel has no code of
// its own that a handler could return to.
const bellFlags = 0x04000000
