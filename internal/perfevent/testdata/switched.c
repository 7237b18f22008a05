// A loop on another stack than main's that is entered as the Go runtime enters its system stack:
// rbp still leads to the frame on the first.
#include <sys/syscall.h>

static char other[64 << 10] __attribute__((aligned(16)));

__attribute__((noinline)) static void work(void)
{
	// Said by the loop itself, and not by way of libc, which may use rbp for something else: who has read it meets nothing else.
	register long call __asm__("rax") = SYS_write;
	__asm__ volatile("syscall" : "+r"(call) : "D"(1L), "S"("ready\n"), "d"(6L) : "rcx", "r11", "memory");
	for (volatile unsigned long i = 0;; i++)
		;
}

__attribute__((noinline)) static void enter(void)
{
	__asm__ volatile("mov %0, %%rsp\n\tcall *%1" ::"r"(other + sizeof other), "r"(work) : "memory");
}

int main(void)
{
	enter();
}
