// Gotrees has functions that call each other on goroutines that grow, move, migrate and panic. For each line that it reads, a number
// of rounds, it does that and prints how often each function has returned by each path of functions, "main.outer>main.inner 12",
// and "end".
package main

import (
	"fmt"
	"runtime"
	"sync"
)

var (
	mu     sync.Mutex
	counts = map[string]int{}
)

func count(path string) {
	mu.Lock()
	defer mu.Unlock()
	counts[path[1:]]++
}

//go:noinline
func inner(path string, x int) int {
	path += ">main.inner"
	count(path)
	return x
}

//go:noinline
func grow(path string, n int) int {
	path += ">main.grow"
	var room [300]byte
	room[n%300] = byte(n)
	if n > 0 {
		inner(path, n)
		n = grow(path, n-1) + int(room[0])
	}
	count(path)
	return n
}

//go:noinline
func panics(path string, x int) int {
	path += ">main.panics"
	inner(path, x)
	if x%2 == 1 {
		panic("odd")
	}
	count(path)
	return x
}

// recovers calls a function that is not counted where panics was.
//
//go:noinline
func recovers(path string, x int) {
	path += ">main.recovers"
	try(path, x)
	try(path, x+1)
	inner(path, x)
	count(path)
}

//go:noinline
func try(path string, x int) {
	defer func() { recover() }()
	panics(path, x)
}

//go:noinline
func exits(path string, x int) {
	path += ">main.exits"
	inner(path, x)
	if x%2 == 1 {
		runtime.Goexit()
	}
	count(path)
}

//go:noinline
func yields(path string, x int) {
	path += ">main.yields"
	for i := range 3 {
		runtime.Gosched()
		inner(path, i)
	}
	count(path)
}

//go:noinline
func handle(path string, x int) {
	path += ">main.handle"
	yields(path, x)
	recovers(path, x)
	grow(path, x%20)
	count(path)
}

func work(rounds int) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range rounds {
				handle("", i)
				var one sync.WaitGroup
				one.Go(func() { // a new goroutine has a small stack, and may have the descriptor of one that has ended
					grow("", 19)
					exits("", i)
				})
				one.Wait()
			}
		})
	}
	all.Wait()
}

func main() {
	fmt.Println("ready")
	var rounds int
	for {
		if n, _ := fmt.Scan(&rounds); n != 1 {
			return
		}
		work(rounds)
		for path, n := range counts {
			fmt.Println(path, n)
		}
		clear(counts)
		fmt.Println("end")
	}
}
