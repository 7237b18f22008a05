// Golocks: goroutines on threads of their own, named after what they wait for; the first one has the locks. It says ready
// when all wait, and ends with its standard input.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

var (
	mutex   sync.Mutex
	rwmutex sync.RWMutex
	channel = make(chan int)
	begun   sync.WaitGroup
)

func start(name string, f func()) {
	begun.Add(1)
	go func() {
		runtime.LockOSThread()
		b := append([]byte(name), 0)
		syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_NAME, uintptr(unsafe.Pointer(&b[0])), 0)
		begun.Done()
		f()
	}()
}

func main() {
	mutex.Lock()
	rwmutex.Lock()
	start("mutex", mutex.Lock)
	start("rwmutex", rwmutex.RLock)
	start("channel", func() { <-channel })
	begun.Wait()
	time.Sleep(300 * time.Millisecond)
	fmt.Println("ready")
	os.Stdin.Read(make([]byte, 1))
}
