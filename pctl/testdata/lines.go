// lines: when standard input ends, a function with a loop of four rounds is called three times. It calls one that is inlined.
package main

import (
	"fmt"
	"io"
	"os"
)

var sink int

func add(n int) {
	sink += n // inlined
}

//go:noinline
func work(n int) {
	for i := range 4 {
		add(i * n) // loop
	}
}

func main() {
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	for i := range 3 {
		work(i)
	}
	add(1)
}
