// Two goroutines that allocate what soon is garbage, so that much of their work, and all of the
// collector's, is done on the system stack; under the chain main.outer > main.middle > main.inner.
package main

import "fmt"

type node struct {
	left, right *node
	text        []byte
}

var kept [1024]*node

//go:noinline
func tree(depth int) *node {
	n := &node{text: make([]byte, 40*depth+1)}
	if depth > 0 {
		n.left, n.right = tree(depth-1), tree(depth-1)
	}
	return n
}

//go:noinline
func inner(i int) {
	kept[i%len(kept)] = tree(6)
	kept[i*7919%len(kept)] = nil
}

//go:noinline
func middle(i int) { inner(i); inner(i + 1) }

//go:noinline
func outer(i int) { middle(i); middle(i + 2) }

//go:noinline
func work(i int) {
	for ; ; i++ {
		outer(i)
	}
}

func main() {
	fmt.Println("ready")
	go work(1)
	work(2)
}
