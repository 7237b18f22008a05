/*
 * busyidle: -b threads (2) that spin beside -t threads that wait for ever, until standard input
 * ends, or until each spinning thread has done -n rounds of about 100 us. The page has the rounds,
 * the longest gap of a spinning thread, and the EINTRs of the others. With -u a spinning thread
 * sleeps so many us after each round.
 */
#include "ptest.h"
#include "burn.h"
#include "idle.h"

static _Atomic int stop;
static int busy = 2;
static useconds_t rest;

NOINLINE static uint64_t busy_round(uint64_t x) { return burn(x, 50); }

static void *spin(void *arg)
{
	uint64_t x = (uintptr_t)arg, n, last = now();

	for (n = 0; !atomic_load(&stop) && (count == 0 || n < count); n++) {
		uint64_t t;

		x = busy_round(x);
		if (rest != 0)
			usleep(rest);
		t = now();
		raise_to(&truth->gap, t - last);
		last = t;
		atomic_fetch_add(&truth->work, 1);
	}
	return (void *)(uintptr_t)n;
}

static void extra(int letter, const char *value)
{
	if (letter == 'b')
		busy = atoi(value);
	else if (letter == 'u')
		rest = atoi(value);
}

int main(int argc, char **argv)
{
	pthread_t t[64];
	uint64_t sum = 0;
	int i;

	threads = 100;
	start(argc, argv, extra);
	if (busy > 64)
		busy = 64;
	idle_start(threads);
	for (i = 0; i < busy; i++)
		t[i] = spawn(spin, (void *)(uintptr_t)i);
	ready();
	if (count == 0) {
		await_end();
		atomic_store(&stop, 1);
	}
	for (i = 0; i < busy; i++) {
		void *n;

		pthread_join(t[i], &n);
		sum += (uintptr_t)n;
	}
	return done(sum);
}
