// Go calls C calls Go calls C, under the chain main.outer > cOuter > goCallback.
package main

/*
#include <stdio.h>
extern void goCallback(int);
extern void busyC(int);
static volatile unsigned long sink;
__attribute__((noinline)) static void cLeaf(int n) {
	for (int i = 0; i < 2000; i++)
		sink += i * n;
}
__attribute__((noinline)) static void cOuter(int n) {
	cLeaf(n);
	goCallback(n);
	sink++;
}
*/
import "C"

import "fmt"

var sink int

//export goCallback
func goCallback(n C.int) {
	for i := range 2000 {
		sink += i * int(n)
	}
	sink += len(make([]byte, 1000+int(n)%1000))
	C.cLeaf(n)
}

//go:noinline
func outer(n int) {
	C.cOuter(C.int(n))
	sink++
}

func main() {
	fmt.Println("ready")
	for i := 0; ; i++ {
		outer(i)
	}
}
