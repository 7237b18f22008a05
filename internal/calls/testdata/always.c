/*
 * always: calls a function of a tenth of a millisecond all the time. For a line of standard input it prints how long the longest call
 * took, in nanoseconds, and ends.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static atomic_long longest;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

__attribute__((noinline)) void always(long until)
{
	while (now() < until)
		;
}

static void *caller(void *unused)
{
	for (;;) {
		long from = now(), took;

		always(from + 100000);
		took = now() - from;
		if (took > longest)
			longest = took;
	}
	return unused;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, caller, NULL);
	puts("ready");
	fflush(stdout);
	getchar();
	printf("%ld\n", longest);
	return 0;
}
