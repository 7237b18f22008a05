/*
 * topstack: at a line on standard input calls known from a function whose stack ends, by a page that is not there, right above
 * its frames, and ends at once.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { SIZE = 1 << 16, PAGE = 4096, CALLS = 3 };

static ucontext_t first, other;

__attribute__((noinline)) int known(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

__attribute__((noinline)) static void on_other(void)
{
	int n = 0;

	while (n < CALLS)
		n = known(n);
}

int main(void)
{
	char *stack = mmap(NULL, SIZE + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED || munmap(stack + SIZE, PAGE) != 0 || getcontext(&other) != 0)
		return 1;
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = SIZE;
	other.uc_link = &first;
	makecontext(&other, on_other, 0);
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	return swapcontext(&first, &other);
}
