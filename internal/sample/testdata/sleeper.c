/* Works for a millisecond in each of two functions, twice as often in the first, and sleeps for as long in between. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static volatile long sink;

static inline __attribute__((always_inline)) void turn(long n)
{
	for (long i = 0; i < n; i++)
		sink = i;
}

__attribute__((noinline)) void often(long n) { turn(n); }
__attribute__((noinline)) void seldom(long n) { turn(n); sink = 0; }

int main(void)
{
	long n = 100000;
	for (;;) { /* as many turns as a millisecond has, whatever else the machine does */
		long long best = 1LL << 60;
		for (int i = 0; i < 20; i++) {
			long long begin = now();
			often(n);
			long long took = now() - begin;
			if (took < best)
				best = took;
		}
		if (best > 800000)
			break;
		n = n * 1.2;
	}
	puts("ready");
	fflush(stdout);
	for (int i = 0;; i++) {
		if (i % 3)
			often(n);
		else
			seldom(n);
		usleep(1000);
	}
}
