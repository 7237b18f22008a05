package ptrace

// bellFlags are the flags of the bell's handler that this machine needs: none, because a handler returns to the vDSO.
const bellFlags = 0
