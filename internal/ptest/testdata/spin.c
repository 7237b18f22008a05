/*
 * spin: counts, in -t threads. The work counter of the page moves while it runs; the gap is the
 * longest time that one of the threads did not run. With -n each thread ends after that many
 * rounds; the checksum is the sum of all rounds.
 */
#include "ptest.h"

static _Atomic int stop;

NOINLINE static uint64_t spin_round(uint64_t x)
{
	int i;

	for (i = 0; i < 1000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

static void *spin(void *arg)
{
	uint64_t x = (uintptr_t)arg, n = 0, last = now();

	while (!atomic_load(&stop) && (count == 0 || n < count)) {
		uint64_t t;

		x = spin_round(x);
		n++;
		atomic_fetch_add(&truth->work, 1);
		t = now();
		raise_to(&truth->gap, t - last);
		last = t;
	}
	return (void *)(uintptr_t)n;
}

int main(int argc, char **argv)
{
	pthread_t t[256];
	uint64_t sum = 0;
	int i;

	start(argc, argv, NULL);
	if (threads > 256)
		threads = 256;
	for (i = 0; i < threads; i++)
		t[i] = spawn(spin, (void *)(uintptr_t)i);
	ready();
	if (count == 0) {
		await_end();
		atomic_store(&stop, 1);
	}
	for (i = 0; i < threads; i++) {
		void *n;

		pthread_join(t[i], &n);
		sum += (uintptr_t)n;
	}
	return done(sum);
}
