/*
 * slack: a thread sleeps for 200 us, and allows its timer to come 1 ms late. Another thread on the same processor sleeps
 * for exactly 3 ms, -n times. The checksum is how often the first one woke within 20 us of the second.
 */
#include "ptest.h"
#include <sched.h>
#include <sys/prctl.h>

enum { WAKES = 1 << 16 };

static uint64_t woke[WAKES];
static _Atomic uint32_t wakes;

static void slack(unsigned long ns)
{
	if (prctl(PR_SET_TIMERSLACK, ns, 0, 0, 0) != 0)
		die("prctl");
}

static void *sleeper(void *arg)
{
	struct timespec ts = { .tv_nsec = 200000 };

	slack(1000000);
	for (;;) {
		nanosleep(&ts, NULL);
		woke[atomic_load(&wakes) % WAKES] = now();
		atomic_fetch_add(&wakes, 1);
	}
	return arg;
}

/* Whether the sleeper has woken within 20 us of t. */
static int woke_at(uint64_t t)
{
	uint32_t i;

	for (i = 0; i < WAKES && i < atomic_load(&wakes); i++)
		if (woke[i] + 20000 > t && woke[i] < t + 20000)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	struct timespec ts = { .tv_nsec = 3000000 };
	uint64_t at[1000], i, together = 0;
	cpu_set_t here;

	start(argc, argv, NULL);
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	if (count > 1000 || sched_setaffinity(0, sizeof here, &here) != 0)
		die("sched_setaffinity");
	slack(1);
	spawn(sleeper, NULL);
	ready();
	for (i = 0; i < count; i++) {
		nanosleep(&ts, NULL);
		at[i] = now();
	}
	for (i = 0; i < count; i++)
		together += woke_at(at[i]);
	return done(together);
}
