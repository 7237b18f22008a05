// Golibrary has goroutines that wait in its own code. It is built as a plugin, or as a library (c-shared) with a Go runtime of its own.
package main

import "C"

import "sync"

var mutex sync.Mutex

func inLibrary(c chan int)             { <-c }
func lockInLibrary()                   { mutex.Lock() }
func waitInLibrary(c *sync.Cond)       { c.L.Lock(); c.Wait() }
func groupInLibrary(g *sync.WaitGroup) { g.Wait() }

// Begin makes seven goroutines.
//
//export Begin
func Begin() {
	mutex.Lock()
	for i := 0; i < 3; i++ {
		go inLibrary(make(chan int))
	}
	for i := 0; i < 2; i++ {
		go lockInLibrary()
	}
	go waitInLibrary(sync.NewCond(new(sync.Mutex)))
	group := new(sync.WaitGroup)
	group.Add(1)
	go groupInLibrary(group)
}

func main() {}
