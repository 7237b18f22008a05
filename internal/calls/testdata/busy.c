/*
 * busy: calls hot all the time, and cold every 2 ms. With the argument "later" hot is only called from when a line comes to when the next one does.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone, noipa))

static volatile long sink;

KEEP long hot(long x) { return sink += x; }
KEEP long cold(long x) { return sink -= x; }

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

int main(int argc, char **argv)
{
	struct pollfd in = { 0, POLLIN, 0 };
	int later = argc > 1 && strcmp(argv[1], "later") == 0, heat = !later;
	long next = now();
	char line[64];

	puts("ready");
	fflush(stdout);
	for (;;) {
		if (heat)
			for (int i = 0; i < 100; i++)
				hot(i);
		if (later && poll(&in, 1, heat ? 0 : 2) > 0 && read(0, line, sizeof line) > 0)
			heat = !heat;
		if (now() >= next) {
			cold(1);
			next = now() + 2000000;
		}
	}
}
