// generic: when standard input ends, methods and instances of a generic function are called, as often as their names or types say.
package main

import (
	"fmt"
	"io"
	"os"
)

type shop struct{ n int }

//go:noinline
func (s *shop) two() { s.n++ }

//go:noinline
func (s shop) three() int { return s.n + 1 }

type number interface{ int8 | float64 }

//go:noinline
func four[T number](list []T) (sum T) {
	for _, v := range list {
		sum += v
	}
	return sum
}

func main() {
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	s := &shop{}
	for range 2 {
		s.two()
	}
	for range 3 {
		s.three()
	}
	for range 4 {
		four([]int8{1})
		four([]float64{1})
	}
}
