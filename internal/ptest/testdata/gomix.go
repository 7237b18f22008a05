// Gomix is mix in Go: it burns CPU in main.fifty, main.thirty and main.twenty, 50, 30 and 20 % of its
// time, beside -t goroutines that wait for ever. Work on the page is rounds. -n is the number of
// rounds; 0: until standard input ends.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

var (
	count   = flag.Uint64("n", 0, "rounds")
	waiting = flag.Int("t", 10, "goroutines that wait")
	sink    uint64
)

//go:noinline
func fifty(x uint64) uint64 {
	for range 100000 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func thirty(x uint64) uint64 {
	for range 60000 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func twenty(x uint64) uint64 {
	for range 40000 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func round(x uint64) uint64 { return twenty(thirty(fifty(x))) + 1 }

// page returns the words of the page of truth.
func page() *[512]uint64 {
	f, err := os.OpenFile(os.Getenv("PTEST_TRUTH"), os.O_RDWR, 0)
	if err != nil {
		return new([512]uint64)
	}
	defer f.Close()
	b, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return (*[512]uint64)(unsafe.Pointer(&b[0]))
}

func main() {
	flag.Parse()
	truth := page()
	never := make(chan bool)
	for range *waiting {
		go func() { <-never }()
	}
	var over atomic.Bool
	if *count == 0 {
		go func() {
			io.Copy(io.Discard, os.Stdin)
			over.Store(true)
		}()
	}
	fmt.Println("ready")
	x := uint64(1)
	for n := uint64(0); !over.Load() && (*count == 0 || n < *count); n++ {
		x = round(x)
		atomic.AddUint64(&truth[0], 1)
	}
	sink = x
	fmt.Println("done", x)
}
