/*
 * threadstorm: -t threads, each of which creates and joins -n threads that live microseconds. Every
 * one of these returns a value of its own; the checksum adds them up and is verified.
 */
#include "ptest.h"

static _Atomic uint64_t total;

NOINLINE static void *brief(void *arg)
{
	atomic_fetch_add(&truth->work, 1);
	return (void *)((uintptr_t)arg * 3 + 1);
}

static void *storm(void *arg)
{
	uint64_t n, sum = 0, expected = 0;

	for (n = 0; count == 0 ? !over() : n < count; n++) {
		void *v;

		pthread_join(spawn(brief, (void *)(uintptr_t)n), &v);
		sum += (uintptr_t)v;
		expected += n * 3 + 1;
	}
	if (sum != expected)
		wrong("threads returned %llu, not %llu", (unsigned long long)sum, (unsigned long long)expected);
	atomic_fetch_add(&total, sum);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[64];
	int i;

	start(argc, argv, NULL);
	if (threads > 64)
		threads = 64;
	ready();
	for (i = 0; i < threads; i++)
		t[i] = spawn(storm, NULL);
	for (i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	return done(atomic_load(&total));
}
