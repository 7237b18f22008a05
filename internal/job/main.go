package job

import (
	"os"
	"runtime"
)

// The first thread of a program that imports this package runs nothing but what its main does before Main.
func init() { runtime.LockOSThread() }

// Main runs a command and exits with the status that it returns. To be called by main.
//
// The kernel gives a signal for the process to the first thread if that does not block it. Were it in a call that no signal
// breaks off, such as open(2) on a file system that does not answer, the signal would wait there, and no other thread
// would get it: ^C would do nothing. So that thread only waits.
func Main(run func() int) {
	status := make(chan int)
	go func() { status <- run() }()
	os.Exit(<-status)
}
