// Gokeys calls functions whose calls are told apart and summed. For each line that it reads it prints what it has counted itself, a
// line for each key: "what|key|calls|calls with a sum|sum". "end" ends the list.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

type item struct {
	name string
	ids  []int
}

type short struct{ n int }

func (s short) Error() string { return "short" }

var errNone = errors.New("none")

//go:noinline
func pay(amount int32, who string, it *item, b []byte) (int, error) {
	switch {
	case amount%3 == 0:
		return int(amount), errNone
	case amount%3 == 1:
		return int(amount), &short{}
	}
	return len(b) - int(amount), nil
}

// number is the number of the goroutine, as the runtime prints it.
func number() string {
	b := make([]byte, 64)
	var n string
	fmt.Sscanf(string(b[:runtime.Stack(b, false)]), "goroutine %s", &n)
	return n
}

type row struct {
	calls, summed int
	sum           int64
}

func main() {
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		rows := map[string]*row{}
		var mu sync.Mutex
		tally := func(what, key string, n int64) {
			mu.Lock()
			defer mu.Unlock()
			r := rows[what+"|"+key]
			if r == nil {
				r = &row{}
				rows[what+"|"+key] = r
			}
			r.calls++
			r.summed++
			r.sum += n
		}
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				for i := g; i < 400; i += 4 {
					amount := int32(i%50 - 20)
					who := fmt.Sprint("user ", i%5)
					it := &item{name: fmt.Sprint("item ", i%3), ids: make([]int, i%7)}
					b := make([]byte, i%9)
					n, err := pay(amount, who, it, b)
					name := "nil"
					if err != nil {
						name = fmt.Sprintf("%T", err)
					}
					tally("goroutine", number(), int64(amount))
					tally("who", strconv.Quote(who), int64(amount))
					tally("name", strconv.Quote(it.name), int64(len(it.ids)))
					tally("error", name, int64(n))
				}
			})
		}
		all.Wait()
		for key, r := range rows {
			fmt.Printf("%s|%d|%d|%d\n", key, r.calls, r.summed, r.sum)
		}
		fmt.Println("end")
	}
}
