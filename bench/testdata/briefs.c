/*
 * briefs: -t threads, each of which starts and joins one thread after the other that works for 2 ms and
 * ends: most of them begin and end between two rounds of a sampler. Until standard input ends.
 */
#include "ptest.h"
#include "burn.h"

NOINLINE static void *brief(void *arg)
{
	uint64_t t0 = cpu_now(), x = (uintptr_t)arg;

	while (cpu_now() - t0 < 2000000)
		x = burn(x, 10);
	return (void *)(uintptr_t)x;
}

static void *starter(void *arg)
{
	while (!over()) {
		pthread_join(spawn(brief, arg), NULL);
		atomic_fetch_add(&truth->work, 1);
	}
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
		t[i] = spawn(starter, (void *)(uintptr_t)i);
	for (i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	return done(atomic_load(&truth->work));
}
