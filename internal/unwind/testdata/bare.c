// Assembler without call frame information between main > outer and back > work.
#include <stdio.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile unsigned long sink;

// Each calls back(n), in frames of several kinds, or works itself.
void framed(long n), pushing(long n), sizing(long n), jumping(long n), leaf(long n);

NOINLINE void back(long n)
{
	for (long i = 0; i < n; i++)
		sink += i;
	sink++;
}

NOINLINE void outer(void)
{
	framed(200);
	pushing(200);
	sizing(200);
	jumping(200);
	leaf(500);
	sink++;
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		outer();
}
