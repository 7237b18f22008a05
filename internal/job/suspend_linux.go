package job

import (
	"os"
	"runtime"
	"syscall"
)

// suspend stops this program, and returns when it has been continued. The signal is SIGSTOP because
// the Go runtime keeps its handlers of the others once they have been installed. It is for the calling
// thread, which meets it on its way back from the call; one for the process may be left to another thread,
// and the thread that has asked for it goes on until that has got to it.
func suspend() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(syscall.Gettid()), uintptr(syscall.SIGSTOP))
}
