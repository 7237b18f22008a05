// Goroutines is a program with -n goroutines in each of the ways in which Go's goroutines wait. A line on standard input, "1" or "2",
// has it write its own trace of all goroutines to standard output, as with debug=1 or debug=2, and then a line "end". It ends when
// standard input does.
//
// With -churn it has goroutines that come, go, grow their stacks and change what they do, as fast as they can.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"sync"
	"syscall"
	"time"
)

var (
	count = flag.Int("n", 10, "goroutines of each kind")
	churn = flag.Int("churn", 0, "goroutines that change")
	spins = flag.Int("spins", 0, "goroutines that only compute")
	plain = flag.Int("plain", 0, "further goroutines that wait for one channel")
)

var ready, finalizing sync.WaitGroup

// kinds are ways to wait.
var kinds = map[string]func(){
	"receive":    receive,
	"send":       send,
	"nilReceive": nilReceive,
	"nilSend":    nilSend,
	"choose":     choose,
	"never":      never,
	"lock":       lock,
	"readLock":   readLock,
	"writeLock":  writeLock,
	"cond":       cond,
	"group":      group,
	"sleep":      sleep,
	"pipe":       pipe,
	"deep":       func() { deep(80) },
	"labelled":   labelled,
	"descend":    descend,
	"inline":     func() { inlined() },
	"method":     new(server).serve,
}

var (
	channel = make(chan int)
	other   = make(chan string)
	mutex   sync.Mutex
	rw      sync.RWMutex
	rw2     sync.RWMutex
	waiter  = sync.NewCond(new(sync.Mutex))
	waits   sync.WaitGroup
)

func receive() { ready.Done(); <-channel }
func send() {
	ready.Done()
	var full = make(chan int)
	full <- 1
}
func nilReceive() { ready.Done(); var c chan int; <-c }
func nilSend()    { ready.Done(); var c chan int; c <- 1 }
func choose() {
	ready.Done()
	select {
	case <-channel:
	case <-other:
	case <-time.After(time.Hour):
	}
}
func never()     { ready.Done(); select {} }
func lock()      { ready.Done(); mutex.Lock() }
func readLock()  { ready.Done(); rw.RLock() }
func writeLock() { ready.Done(); rw2.Lock() }
func cond() {
	waiter.L.Lock()
	ready.Done()
	waiter.Wait()
}
func group() { ready.Done(); waits.Wait() }
func sleep() { ready.Done(); time.Sleep(time.Hour) }
func pipe() {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	defer w.Close()
	ready.Done()
	r.Read(make([]byte, 1))
}

//go:noinline
func deep(n int) int {
	if n > 0 {
		return deep(n-1) + 1
	}
	ready.Done()
	<-channel
	return 0
}

func labelled() {
	pprof.Do(context.Background(), pprof.Labels("request", "r1", "user", "u\n1"), func(context.Context) { ready.Done(); <-channel })
}

// descend ends at once, and so does its child. A grandchild waits.
func descend() {
	go func() { deeper(60) }()
}

//go:noinline
func deeper(n int) int {
	if n > 0 {
		return deeper(n-1) + 1
	}
	go descended()
	return 0
}

//go:noinline
func descended() { ready.Done(); <-channel }

// blockFinalizer has the next collection run a finalizer, which blocks all others.
//
//go:noinline
func blockFinalizer() {
	finalizing.Add(1)
	runtime.SetFinalizer(&struct{ self *server }{new(server)}, func(*struct{ self *server }) { finalizing.Done(); <-channel })
}

func inlined() { innermost() }
func innermost() {
	ready.Done()
	<-channel
}

// withArgument needs a function of the compiler's that has the argument.
func withArgument(n int) { ready.Done(); <-channel; called += n }

type server struct{ n int }

func (s *server) serve() { ready.Done(); <-channel }

// inCall is in a system call that blocks its thread.
func inCall() {
	var p [2]int
	if err := syscall.Pipe(p[:]); err != nil {
		panic(err)
	}
	ready.Done()
	syscall.Read(p[0], make([]byte, 1))
}

// spin calls functions that never return.
//
//go:noinline
func spin() { spinOuter(1) }

//go:noinline
func spinOuter(n int) { spinInner(n); called++ }

//go:noinline
func spinInner(n int) {
	for n != 0 {
		n += n | 1
		n |= 1
	}
}

func lockedCall() {
	runtime.LockOSThread()
	ready.Done()
	<-channel
}

// The even functions call each other, and the odd ones likewise. Their frames are of the same size.

//go:noinline
func even1(c chan int, n int) int { return even2(c, n) + 1 }

//go:noinline
func even2(c chan int, n int) int { return even3(c, n) + 1 }

//go:noinline
func even3(c chan int, n int) int { return meet(c, n) + 1 }

//go:noinline
func odd1(c chan int, n int) int { return odd2(c, n) + 1 }

//go:noinline
func odd2(c chan int, n int) int { return odd3(c, n) + 1 }

//go:noinline
func odd3(c chan int, n int) int { return meet(c, n) + 1 }

// grow needs more stack than a goroutine begins with.
//
//go:noinline
func grow(c chan int, n int) int {
	var big [1024]int
	big[n%1024] = n
	return even1(c, big[n%1024]) + 1
}

var busy sync.Mutex

//go:noinline
func meet(c chan int, n int) int {
	switch n % 4 {
	case 0:
		busy.Lock()
		runtime.Gosched()
		busy.Unlock()
		return n
	case 1:
		runtime.Gosched()
		syscall.Nanosleep(&syscall.Timespec{Nsec: 1000}, nil)
		return n
	}
	select {
	case c <- n:
	case v := <-c:
		return v
	}
	return n
}

// calling does nothing but make system calls, in functions that call each other like those above.
func calling() {
	for {
		evenCall1()
		oddCall1()
	}
}

//go:noinline
func evenCall1() { evenCall2(); called++ }

//go:noinline
func evenCall2() { call(); called++ }

//go:noinline
func oddCall1() { oddCall2(); called++ }

//go:noinline
func oddCall2() { call(); called++ }

//go:noinline
func call() { syscall.Nanosleep(&syscall.Timespec{Nsec: 1}, nil); called++ }

var called int

func changing(c chan int, n int) {
	for i := 0; i < 100; i++ {
		switch n += 7; n % 3 {
		case 0:
			even1(c, n)
		case 1:
			odd1(c, n)
		}
	}
	grow(c, n)
	go changing(c, n)
}

func main() {
	flag.Parse()
	mutex.Lock()
	rw.Lock()
	rw2.RLock()
	waits.Add(1)
	for name := range kinds {
		f := kinds[name]
		ready.Add(*count)
		for i := 0; i < *count; i++ {
			go f()
		}
	}
	ready.Add(3 + *plain)
	go inCall()
	go lockedCall()
	go lockedCall()
	for i := 0; i < *plain; i++ {
		go receive()
	}
	c := make(chan int)
	for i := 0; i < *churn; i++ {
		go changing(c, i)
	}
	if *churn > 0 {
		go calling()
	}
	ready.Add(*count)
	for i := 0; i < *count; i++ {
		go withArgument(i)
	}
	for i := 0; i < *spins; i++ {
		go spin()
	}
	ready.Wait()
	blockFinalizer()
	runtime.GC() // the collector notes since when they have waited
	finalizing.Wait()
	debug.SetGCPercent(100)
	fmt.Println("ready", strconv.Itoa(os.Getpid()))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if debug, err := strconv.Atoi(lines.Text()); err == nil {
			pprof.Lookup("goroutine").WriteTo(os.Stdout, debug)
			fmt.Println("end")
		}
	}
}
