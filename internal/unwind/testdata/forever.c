// A program whose functions call what never returns, so that their code shows no way out. Built
// without tables and symbols there is only where each function begins.
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile unsigned long sink;

NOINLINE unsigned long work(unsigned long n)
{
	char text[64];
	for (int i = 0; i < 20; i++)
		sink += snprintf(text, sizeof text, "%lu", n + i);
	return sink;
}

NOINLINE _Noreturn void inner(unsigned long from, unsigned long by)
{
	unsigned long room[16] = {0};
	for (unsigned long n = from;; n += by) {
		room[n % 16] += work(n);
		room[(n + 1) % 16] ^= work(n + room[n % 16]);
		if (room[0] == 1 && by == 17)
			exit(room[1]);
	}
}

NOINLINE _Noreturn void middle(unsigned long by)
{
	unsigned long room[10] = {0};
	room[work(by) % 10] = by;
	inner(work(room[3]), room[4] + 1);
}

_Noreturn void (*volatile outer)(unsigned long) = middle;

int main(int argc, char **argv)
{
	puts("ready");
	fflush(stdout);
	outer(argc);
}
