// Parked is a program with -n threads that Go's scheduler has made for system calls that block, and that are parked since these have
// ended, while goroutines work. It prints ready, and ends when standard input does.
package main

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

var sink int

//go:noinline
func blocks(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	syscall.Nanosleep(&ts, nil)
	sink++
}

// works has goroutines wake each other, so that threads take and leave them all the time.
func works(in, out chan int) {
	for n := range in {
		for i := 0; i < 1000; i++ {
			n += i
		}
		out <- n
	}
}

func threads() int {
	list, err := os.ReadDir("/proc/self/task")
	if err != nil {
		panic(err)
	}
	return len(list)
}

func main() {
	n := flag.Int("n", 1000, "threads")
	flag.Parse()
	for d := 300 * time.Millisecond; threads() < *n; d *= 2 {
		var all sync.WaitGroup
		for i := 0; i < *n; i++ {
			all.Add(1)
			go func() { blocks(d); all.Done() }()
		}
		all.Wait()
	}
	for i := 0; i < 4; i++ {
		a, b := make(chan int), make(chan int)
		go works(a, b)
		go works(b, a)
		a <- 1
	}
	fmt.Println("ready")
	os.Stdin.Read(make([]byte, 1))
}
