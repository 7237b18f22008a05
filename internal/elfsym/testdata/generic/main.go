// Command generic has generic functions and methods, a closure, and functions that are inlined everywhere.
package main

import "os"

type number interface{ ~int | ~float64 }

//go:noinline
func sum[T number](v ...T) (s T) {
	for _, x := range v {
		s += x
	}
	return s
}

type stack[T any] struct{ v []T }

//go:noinline
func (s *stack[T]) push(x T) { s.v = append(s.v, x) }

type box struct{ n int }

//go:noinline
func (b *box) inc() { b.n++ }

func tiny(x int) int { return (3*x + 1) * (x ^ 5) % 11 }

//go:noinline
func caller(x int) int { return tiny(x) }

//go:noinline
func apply(f func(int) int) int { return f(1) }

func main() {
	var a stack[int]
	var b stack[string]
	var c box
	a.push(sum(1, 2))
	b.push("x")
	c.inc()
	n := len(os.Args)
	os.Exit(int(sum(0.5, 1.5)) + caller(tiny(c.n)) + apply(func(i int) int { return i + n }))
}
