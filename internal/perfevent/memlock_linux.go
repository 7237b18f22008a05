package perfevent

import (
	"math"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"ptools/internal/need"
)

// Before Linux 5.11 the memory of BPF maps and programs counts against RLIMIT_MEMLOCK of the user, mostly 64 KiB
// (bpf_charge_memlock in kernel/bpf/syscall.c). The refusal is EPERM. What was made within a raised limit stays.

// unlocked makes a call of bpf(2). If it is not permitted, unlocked makes it again within a raised RLIMIT_MEMLOCK, and
// gives back the limit.
func unlocked(call func() (int, error)) (int, error) {
	fd, err := call()
	if err != unix.EPERM {
		return fd, err
	}
	raising.Lock()
	defer raising.Unlock()
	syscall.ForkLock.RLock() // no child gets the raised limit
	defer syscall.ForkLock.RUnlock()
	var old unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &old) != nil || old.Cur == math.MaxUint64 {
		return fd, err
	}
	raised := unix.Rlimit{Cur: math.MaxUint64, Max: math.MaxUint64}
	if unix.Setrlimit(unix.RLIMIT_MEMLOCK, &raised) != nil {
		raised = unix.Rlimit{Cur: old.Max, Max: old.Max}
		if old.Cur == old.Max || unix.Setrlimit(unix.RLIMIT_MEMLOCK, &raised) != nil {
			return fd, lockedOut(old)
		}
	}
	defer unix.Setrlimit(unix.RLIMIT_MEMLOCK, &old)
	if fd, err = call(); err == unix.EPERM && raised.Cur != math.MaxUint64 {
		err = lockedOut(raised)
	}
	return fd, err
}

// raising keeps one goroutine from taking the limit that another has raised for the old one.
var raising sync.Mutex

// lockedOut returns the reason for a refusal. It is the limit where this program may make maps and programs otherwise:
// it has the capabilities for them in the first user namespace, and bpf(2) is not denied as a whole. A look-up in a map that does not exist fails with EBADF then.
func lockedOut(limit unix.Rlimit) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&header, &caps[0]); err != nil {
		return unix.EPERM
	}
	const both = 1<<(unix.CAP_BPF-32) | 1<<(unix.CAP_PERFMON-32)
	may := caps[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0 || caps[1].Effective&both == both
	call := mapCall{fd: math.MaxUint32}
	if _, err := bpf(unix.BPF_MAP_LOOKUP_ELEM, unsafe.Pointer(&call), unsafe.Sizeof(call)); !may || !need.Now().InFirst || err == unix.EPERM {
		return unix.EPERM
	}
	return &need.MemlockError{Limit: limit.Cur}
}
