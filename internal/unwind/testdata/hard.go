// What the runtime does on other stacks than the goroutine's own: growing stacks, collecting
// garbage, signals, faults that become panics, preemption, timers and goroutines that come and go.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
)

var sink int

//go:noinline
func grow(n int) int {
	var a [200]byte
	a[n%200] = byte(n)
	if n == 0 {
		return int(a[0])
	}
	return grow(n-1) + int(a[n%200])
}

//go:noinline
func fault(p *int) (n int) {
	defer func() {
		if recover() != nil {
			n = grow(5)
		}
	}()
	return *p
}

//go:noinline
func allocate(n int) {
	m := map[int][]byte{}
	for i := range n {
		m[i] = make([]byte, 100+i)
	}
	sink += len(m)
}

//go:noinline
func deferred(n int) {
	defer func() { sink += grow(3) }()
	if n > 0 {
		deferred(n - 1)
	}
}

//go:noinline
func turn() {
	var wait sync.WaitGroup
	ch := make(chan int)
	for range 2 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			sink += grow(500) + <-ch
		}()
	}
	ch <- 1
	ch <- 2
	wait.Wait()
	sink += fault(nil)
	deferred(10)
	allocate(500)
	var pcs [100]uintptr
	sink += runtime.Callers(0, pcs[:])
	time.Sleep(time.Microsecond)
	runtime.Gosched()
}

func main() {
	usr1 := make(chan os.Signal, 1)
	signal.Notify(usr1, syscall.SIGUSR1)
	go func() {
		for range usr1 {
			sink++
		}
	}()
	fmt.Println("ready")
	for i := 0; ; i++ {
		turn()
		if i%20 == 0 {
			runtime.GC()
			syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		}
	}
}
