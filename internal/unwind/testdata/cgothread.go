// A thread that C has started calls Go, which calls C, which calls Go: start > cOuter >
// goCallback > cInner > goLeaf. A timer interrupts both languages.
package main

/*
#cgo CFLAGS: -O2
#include <pthread.h>
#include <stdio.h>
extern void goCallback(int);
extern void goLeaf(int);
static volatile unsigned long sink;
__attribute__((noinline)) static void cWork(int n) {
	for (int i = 0; i < 1000; i++)
		sink += i * n;
	sink++;
}
__attribute__((noinline)) static void cInner(int n) {
	cWork(n);
	goLeaf(n);
	sink++;
}
__attribute__((noinline)) static void cOuter(int n) {
	cWork(n);
	goCallback(n);
	sink++;
}
static void *start(void *p) {
	for (int n = 0;; n++)
		cOuter(n);
	return p;
}
static void launch(void) {
	pthread_t t;
	pthread_create(&t, 0, start, 0);
}
static void inner(int n) { cInner(n); }
*/
import "C"

import (
	"fmt"
	"os"
	"runtime/pprof"
)

var sink int

//export goLeaf
func goLeaf(n C.int) {
	for i := range 1000 {
		sink += i * int(n)
	}
	sink += len(make([]byte, 100+int(n)%100))
}

//export goCallback
func goCallback(n C.int) {
	goLeaf(n)
	C.inner(n)
}

func main() {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	pprof.StartCPUProfile(null)
	C.launch()
	fmt.Println("ready")
	select {}
}
