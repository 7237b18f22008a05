/*
 * deepstack: for each line bottom is called below 40 frames of 1 KB.
 */
#include <stdio.h>

#define KEEP __attribute__((noinline, noclone, noipa))

static volatile long sink;

KEEP long bottom(long x) { return sink += x; }

KEEP long rung(int n)
{
	volatile char room[1024];

	room[n] = 1;
	return (n == 0 ? bottom(1) : rung(n - 1)) + room[n];
}

KEEP long top(int n) { return rung(n) + 1; }

int main(void)
{
	char line[64];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		top(40);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
