package job

import (
	"os"
	"runtime"
)

// The first thread of a program that imports this package runs only what its main does before Main.
func init() { runtime.LockOSThread() }

// Main runs a command and exits with the status that run returns. It must be called by main.
//
// The kernel gives a signal for the process to the first thread if that thread does not block it. If the thread were in a
// call that no signal interrupts, such as open(2) on a file system that does not answer, the signal would wait there. No
// other thread would get it: ^C would do nothing. So the first thread only waits.
func Main(run func() int) {
	status := make(chan int)
	go func() { status <- run() }()
	os.Exit(<-status)
}
