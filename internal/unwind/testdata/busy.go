// Goroutines that work, allocate, grow their stacks, talk, read the clock and make
// system calls, under the chain main.outer > main.middle > main.inner.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"time"
)

var sink int

//go:noinline
func deep(n int) int {
	var pad [64]int
	if n == 0 {
		return pad[n]
	}
	pad[n%64] = deep(n - 1)
	return pad[n%64] + 1
}

//go:noinline
func inner(i int, c chan int, f *os.File) {
	switch i % 8 {
	case 0:
		for k := range 3000 {
			sink += k * i
		}
	case 1:
		s := make([]int, 200)
		for k := range s {
			s[k] = k * 7919 % 200
		}
		sort.Ints(s)
	case 2:
		done := make(chan int)
		go func() { done <- deep(200) }()
		sink += <-done
	case 3:
		sink += len(strings.Repeat("x", 3000)) + len(fmt.Sprintf("%d %v", i, f.Name()))
	case 4:
		sink += int(time.Now().UnixNano())
	case 5:
		f.Write([]byte("x"))
	case 6:
		c <- i
	case 7:
		defer func() { recover() }()
		var m map[string]int
		m["x"] = i
	}
}

//go:noinline
func middle(i int, c chan int, f *os.File) { inner(i, c, f); sink++ }

//go:noinline
func outer(i int, c chan int, f *os.File) { middle(i, c, f); sink++ }

func main() {
	f, err := os.OpenFile("/dev/null", os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	c := make(chan int)
	go func() {
		for i := range c {
			sink += i
		}
	}()
	fmt.Println("ready")
	for i := 0; ; i++ {
		outer(i, c, f)
	}
}
