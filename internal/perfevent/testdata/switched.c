// A loop on another stack than main's that is entered as the Go runtime enters its system stack:
// rbp still leads to the frame on the first.
#include <stdio.h>

static char other[64 << 10] __attribute__((aligned(16)));

__attribute__((noinline)) static void work(void)
{
	for (volatile unsigned long i = 0;; i++)
		;
}

__attribute__((noinline)) static void enter(void)
{
	__asm__ volatile("mov %0, %%rsp\n\tcall *%1" ::"r"(other + sizeof other), "r"(work) : "memory");
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	enter();
}
