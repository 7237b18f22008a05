// A function that ends with a call of one that never returns, between callers that keep a frame pointer. Built without tables and
// symbols, the frame pointer leads past a caller.
#include <alloca.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile unsigned long sink;

NOINLINE _Noreturn void last(int n)
{
	volatile char *room = alloca(n * 16 + 64);

	room[0] = 1;
	for (;;)
		sink++;
}

NOINLINE int ends(int n)
{
	if (n > 1)
		last(n);
	return 3;
}

NOINLINE void follows(void) { sink++; }

NOINLINE int keeps(int n)
{
	volatile char *room = alloca(n * 100);
	int r;

	room[n] = n;
	r = ends(n) + room[n];
	sink += room[n];
	return r;
}

NOINLINE int calls(int n)
{
	volatile char *room = alloca(n * 50);
	int r;

	room[n] = n;
	r = keeps(room[n]) + room[n];
	sink += room[n];
	return r;
}

int main(int argc, char **argv)
{
	(void)argv;
	puts("ready");
	fflush(stdout);
	follows();
	return calls(argc + 2);
}
