// Hotgo calls main.hot again and again. Work on the page is calls.
package main

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

//go:noinline
func hot(x uint64) (uint64, error) { return x*6364136223846793005 + 1442695040888963407, nil }

func main() {
	f, err := os.OpenFile(os.Getenv("PTEST_TRUTH"), os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	work := (*uint64)(unsafe.Pointer(&b[0]))
	os.Stdout.WriteString("ready\n")
	go func() { // standard input ends with the caller
		os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	for x, n := uint64(0), uint64(0); ; {
		x, _ = hot(x)
		n++
		atomic.StoreUint64(work, n)
	}
}
