// Calls two functions of C in turns, each by a Go function of its own. They use the frame pointer for something else.
package main

/*
#ifdef __x86_64__
#define USE_FP() __asm__ volatile("xor %%ebp, %%ebp" ::: "rbp")
#else
#define USE_FP() (void)0
#endif
static volatile unsigned long sink;
__attribute__((noinline)) static void c_one(int n) {
	USE_FP();
	for (int i = 0; i < n * 100000; i++)
		sink += i;
}
__attribute__((noinline)) static void c_two(int n) {
	USE_FP();
	for (int i = 0; i < n * 100000; i++)
		sink += i + 1;
}
*/
import "C"

import "fmt"

//go:noinline
func callsOne() { C.c_one(10) }

//go:noinline
func callsTwo() { C.c_two(10) }

func main() {
	fmt.Println("ready")
	for {
		callsOne()
		callsTwo()
	}
}
