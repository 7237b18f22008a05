// Goendings has functions whose calls end in all the ways that Go has, on goroutines that grow, move and migrate. For each
// line that it reads, a number of rounds, it does them and prints how often each function was called, and how often a
// call has returned: "main.plain 10 10 main.grow 10 10 ...".
package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
)

type count struct{ called, returned atomic.Int64 }

var plains, grows, panics, recovers, exits, yields count

var sink atomic.Int64

//go:noinline
func plain(x int64) int64 { return sink.Add(x) }

// grow needs more stack the deeper it is, so that the stack is copied while calls are open.
//
//go:noinline
func grow(n int) int {
	var room [512]byte
	room[n%512] = byte(n)
	if n == 0 {
		return int(room[0])
	}
	grows.called.Add(1)
	r := grow(n-1) + int(room[n%512])
	grows.returned.Add(1)
	return r
}

//go:noinline
func panics2(x int) int {
	if x%2 == 1 {
		panic("odd")
	}
	return x + int(sink.Load())
}

//go:noinline
func recovers2(x int) (r int) {
	defer func() { recover() }()
	panics.called.Add(1)
	r = panics2(x)
	panics.returned.Add(1)
	return r
}

// exits2 ends its goroutine.
//
//go:noinline
func exits2(x int) int {
	if x%2 == 1 {
		runtime.Goexit()
	}
	return x + int(sink.Load())
}

//go:noinline
func yields2(x int) int {
	for range 3 {
		runtime.Gosched()
	}
	return x + int(sink.Load())
}

func work(rounds int) {
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range rounds {
				plains.called.Add(1)
				plain(int64(i))
				plains.returned.Add(1)
				recovers.called.Add(1)
				recovers2(i)
				recovers.returned.Add(1)
				yields.called.Add(1)
				yields2(i)
				yields.returned.Add(1)
				var one sync.WaitGroup
				one.Go(func() { // a new goroutine has a small stack
					grows.called.Add(1)
					grow(50)
					grows.returned.Add(1)
					exits.called.Add(1)
					exits2(i)
					exits.returned.Add(1)
				})
				one.Wait()
				if w == 0 && i%100 == 0 {
					if err := exec.Command("/bin/true").Run(); err != nil {
						panic(err)
					}
					runtime.GC() // shrinks stacks
				}
			}
		})
	}
	wg.Wait()
}

func main() {
	fmt.Println("ready")
	var rounds int
	for {
		if n, _ := fmt.Scan(&rounds); n != 1 {
			return
		}
		work(rounds)
		for name, c := range map[string]*count{"main.plain": &plains, "main.grow": &grows, "main.panics2": &panics, "main.recovers2": &recovers, "main.exits2": &exits, "main.yields2": &yields} {
			fmt.Print(name, " ", c.called.Load(), " ", c.returned.Load(), " ")
		}
		fmt.Println()
	}
}
