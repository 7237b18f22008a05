package perfevent

import (
	"fmt"
	"io/fs"
)

// A MemlockError says that RLIMIT_MEMLOCK keeps the kernel from making a BPF map. It is an [fs.ErrPermission].
type MemlockError struct{ Limit uint64 } // bytes

func (e *MemlockError) Error() string {
	return fmt.Sprintf("RLIMIT_MEMLOCK is %d KiB and cannot be raised (needs CAP_SYS_RESOURCE, or ulimit -l unlimited)", e.Limit>>10)
}

// Is reports whether the error is a target.
func (*MemlockError) Is(target error) bool { return target == fs.ErrPermission }
