/*
 * mix: burns CPU in three functions, 50, 30 and 20 % of its time. The page's shares 0, 1 and 2 are
 * the CPU nanoseconds of fifty, thirty and twenty as the kernel accounts them. A round takes about
 * 200 us; -n counts rounds. With -t, that many threads do the same. With -u they sleep so many us
 * after each round, so that a target that only has to do some work leaves the processors to other tests.
 */
#include "ptest.h"
#include "burn.h"

static _Atomic int stop;
static useconds_t rest;

NOINLINE static uint64_t fifty(uint64_t x) { return burn(x, 50); }
NOINLINE static uint64_t thirty(uint64_t x) { return burn(x, 30); }
NOINLINE static uint64_t twenty(uint64_t x) { return burn(x, 20); }

NOINLINE static uint64_t mix_round(uint64_t x)
{
	uint64_t t0 = cpu_now(), t1, t2, t3;

	x = fifty(x);
	t1 = cpu_now();
	x = thirty(x);
	t2 = cpu_now();
	x = twenty(x);
	t3 = cpu_now();
	atomic_fetch_add(&truth->share[0], t1 - t0);
	atomic_fetch_add(&truth->share[1], t2 - t1);
	atomic_fetch_add(&truth->share[2], t3 - t2);
	atomic_fetch_add(&truth->work, 1);
	return x;
}

static void *mix(void *arg)
{
	uint64_t x = (uintptr_t)arg, n;

	for (n = 0; !atomic_load(&stop) && (count == 0 || n < count); n++) {
		x = mix_round(x);
		if (rest != 0)
			usleep(rest);
	}
	return (void *)(uintptr_t)x;
}

static void *watch(void *arg)
{
	await_end();
	atomic_store(&stop, 1);
	return arg;
}

static void extra(int letter, const char *value)
{
	if (letter == 'u')
		rest = atoi(value);
}

int main(int argc, char **argv)
{
	pthread_t t[64];
	uint64_t sum;
	int i;

	start(argc, argv, extra);
	if (threads > 64)
		threads = 64;
	if (count == 0)
		spawn(watch, NULL);
	for (i = 1; i < threads; i++)
		t[i] = spawn(mix, (void *)(uintptr_t)i);
	ready();
	sum = (uintptr_t)mix(NULL);
	for (i = 1; i < threads; i++) {
		void *x;

		pthread_join(t[i], &x);
		sum += (uintptr_t)x;
	}
	return done(sum);
}
