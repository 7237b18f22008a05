package job

import (
	"os"
	"runtime"
	"syscall"
)

// suspend stops this program, and returns when it has been continued. The signal is SIGSTOP because the Go
// runtime keeps its handlers of the other signals once they have been installed. The signal is sent to the
// calling thread, which takes it on its way back from the call. A signal for the process might go to
// another thread, and the calling thread would run on until that thread has taken it.
func suspend() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(syscall.Gettid()), uintptr(syscall.SIGSTOP))
}
