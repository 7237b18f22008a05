// Gosleepers is sleepers in Go: -t goroutines that run main.fifty, main.thirty and main.twenty with a
// sleep of 20 us to 2 ms after each, until standard input ends. -k short: they run 130, 78 and 52 us;
// long: 2.5, 1.5 and 1 ms. The page's shares 0, 1 and 2 are their CPU nanoseconds. One round in -e is
// measured and counts for all.
package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

var (
	workers = flag.Int("t", 1, "goroutines")
	kind    = flag.String("k", "short", "short or long")
	every   = flag.Uint64("e", 16, "the measured share of the rounds")
	unit    int
	sink    atomic.Uint64
	truth   *[512]uint64
)

func loop(x uint64, n int) uint64 {
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func fifty(x uint64) uint64 { return loop(x, 50*unit) }

//go:noinline
func thirty(x uint64) uint64 { return loop(x, 30*unit) }

//go:noinline
func twenty(x uint64) uint64 { return loop(x, 20*unit) }

var parts = []func(uint64) uint64{fifty, thirty, twenty}

// clock is the CPU time of the thread.
func clock() uint64 {
	const threadClock = 3 // CLOCK_THREAD_CPUTIME_ID
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&ts)), 0)
	return uint64(ts.Nano())
}

// account adds a run of a part. A goroutine that another thread went on with is measured wrong: the
// thread did other things meanwhile, so the run of the last time counts again.
func account(part int, last *uint64, run func()) {
	tid, t0 := syscall.Gettid(), clock()
	run()
	if took := clock() - t0; syscall.Gettid() == tid {
		*last = took
	}
	atomic.AddUint64(&truth[16+part], *every**last)
}

// nap sleeps; every order of magnitude is as likely as the next.
func nap() {
	d := 20 * time.Microsecond << rand.IntN(7)
	d += time.Duration(rand.Int64N(int64(d)))
	time.Sleep(min(d, 2*time.Millisecond))
}

func work() {
	x := uint64(1)
	var last [3]uint64
	for n := uint64(0); ; n++ {
		for i, part := range parts {
			if n%*every == 0 {
				account(i, &last[i], func() { x = part(x) })
			} else {
				x = part(x)
			}
			nap()
		}
		atomic.AddUint64(&truth[0], 1)
		sink.Store(x)
	}
}

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

// calibrate finds out how many iterations are 1 % of a round.
func calibrate() {
	const n = 1_000_000
	best := ^uint64(0)
	for range 20 {
		t0 := clock()
		sink.Store(loop(1, n))
		best = min(best, clock()-t0)
	}
	us := 2.6
	if *kind == "long" {
		us = 50
	}
	unit = int(us * 1e3 * n / float64(best))
}

func main() {
	flag.Parse()
	truth = page()
	calibrate()
	for range *workers {
		go work() // until the process ends
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	fmt.Println("done", sink.Load())
}
