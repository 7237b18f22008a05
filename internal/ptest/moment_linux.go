package ptest

import (
	"math/rand/v2"
	"runtime"
	"syscall"
	"time"
)

// AMoment returns at a random moment within while, independent of what the target does. A moment may be missed
// because this processor was taken away, by the target's thread or by the host of a virtual machine: all that was
// due meanwhile then happens at once. AMoment replaces a missed moment by another one. Where all moments are missed, as under emulation, it becomes
// content with later ones.
func AMoment(random *rand.Rand, while time.Duration) {
	for late := onTime; Await(time.Now().Add(time.Duration(random.Int64N(int64(while))))) > late; late *= 2 {
	}
}

// onTime is how late a wake-up is that has not been missed: about as long as it takes.
const onTime = 100 * time.Microsecond

// Await returns at a moment, and says how late it is. It sleeps with the least timer slack: by default
// the kernel lets timers that are due within some 50 us expire together (PR_SET_TIMERSLACK), so the sleep would
// mostly end with one of the target's, just when that hits. A thread that spins instead would have a processor that
// others wait for.
func Await(moment time.Time) (late time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const prSetTimerSlack, least, usual = 29, 1, 0 // in ns
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, least, 0)
	defer syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, usual, 0)
	rest := syscall.NsecToTimespec(max(0, int64(time.Until(moment))))
	for syscall.Nanosleep(&rest, &rest) == syscall.EINTR {
	}
	return time.Since(moment)
}
