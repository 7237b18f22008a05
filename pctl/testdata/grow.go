// grow: for each line that it reads, 100 new goroutines call deep 201 times each, for which their stacks grow.
package main

import (
	"bufio"
	"fmt"
	"os"
)

//go:noinline
func deep(n int, b [512]byte) int {
	if n == 0 {
		return int(b[0])
	}
	return deep(n-1, b) + 1
}

func main() {
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		done := make(chan int)
		for range 100 {
			go func() { done <- deep(200, [512]byte{}) }()
		}
		sum := 0
		for range 100 {
			sum += <-done
		}
		fmt.Println(sum)
	}
}
