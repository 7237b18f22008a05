/*
 * known: calls functions known numbers of times: known_one and leaps once, known_many 1000 times, known_deep 10 deep 3 times. Its status is 7.
 * With an argument it calls naps, which sleeps 2 ms, and the others for ever.
 */
#include <stdio.h>
#include <time.h>

#define KEEP __attribute__((noinline, noclone, noipa))

static volatile long sink;

KEEP long known_one(long x) { return sink = x; }
KEEP long known_many(long x) { return sink += x; }
KEEP long known_deep(long n)
{
	long below = n ? known_deep(n - 1) : 0;
	sink += below;
	return below + 1;
}

KEEP long landing(long x) { return sink - x; }
KEEP long leaps(long x) { return landing(x + 1); } /* a jump, if it is optimized */

KEEP long never(long x) { return known_one(x) + 1; }

KEEP int naps(void)
{
	struct timespec t = { 0, 2000000 };
	return nanosleep(&t, NULL);
}

__attribute__((constructor)) static void before(void) { known_many(1); }

int main(int argc, char **argv)
{
	if (argc > 5)
		never(1);
	puts("ready");
	fflush(stdout);
	do {
		known_one(1);
		leaps(1);
		for (int i = 0; i < 999; i++)
			known_many(i);
		for (int i = 0; i < 3; i++)
			known_deep(9);
		if (argc > 1)
			naps();
	} while (argc > 1);
	return 7;
}
