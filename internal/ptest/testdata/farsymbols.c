/*
 * farsymbols: computes in inner, called by outer, until its standard input ends. Its symbols and tables are megabytes
 * behind its code in the file, where nothing has read them while it runs. With -u it sleeps so many us after each round of some 100.
 */
#include "ptest.h"

/* A section that is not loaded. */
__asm__(".section .between, \"\", @progbits\n\t.zero 8 << 20\n\t.previous");

NOINLINE uint64_t inner(uint64_t n)
{
	volatile uint64_t sum = 0;

	while (n-- > 0)
		sum += n;
	return sum;
}

NOINLINE uint64_t outer(uint64_t n) { return inner(n) + 1; }

static useconds_t rest;

static void extra(int letter, const char *value)
{
	if (letter == 'u')
		rest = atoi(value);
}

int main(int argc, char **argv)
{
	start(argc, argv, extra);
	outer(10);
	ready();
	while (!over()) {
		atomic_fetch_add(&truth->work, outer(1 << 16) != 0);
		if (rest != 0)
			usleep(rest);
	}
	return 0;
}
