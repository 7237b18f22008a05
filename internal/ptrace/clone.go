package ptrace

import "errors"

// Flags of clone(2).
const (
	CloneVM       = 0x100
	CloneParent   = 0x8000
	CloneThread   = 0x10000
	CloneUntraced = 0x800000
	cloneVfork    = 0x4000
)

var errNoClone = errors.New("thread is in no system call that makes a thread or a process")
