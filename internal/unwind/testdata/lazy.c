// Calls through the procedure linkage table, which LD_BIND_NOT=1 makes the run-time linker resolve
// each time, and functions whose implementation is chosen, each time, by a resolver.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile unsigned long sink;

static unsigned long one(unsigned long n) { return n + 1; }
static unsigned long two(unsigned long n) { return n + 2; }

NOINLINE void choose(void)
{
	for (int i = 0; i < 100; i++)
		sink += i;
	sink++;
}

static unsigned long (*resolver(void))(unsigned long)
{
	choose();
	return sink % 2 ? one : two;
}

unsigned long chosen(unsigned long) __attribute__((ifunc("resolver")));

NOINLINE void inner(int n)
{
	char b[64];
	memset(b, n, sizeof b);
	sink += b[n % 64] + strlen(getenv("HOME") ? "a" : "bb") + labs(n) + (unsigned long)floor(n);
	sink += chosen(n);
}

NOINLINE void outer(int n)
{
	inner(n);
	sink++;
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (int i = 0;; i++)
		outer(i);
}
