/*
 * leaderdead: the leading thread ends by pthread_exit. -t threads go on working until standard input ends,
 * or for -n rounds each. "ready" is printed when the leader is a zombie.
 */
#include "ptest.h"
#include "burn.h"

static _Atomic int working;
static _Atomic uint64_t sum;

NOINLINE static uint64_t work_on(uint64_t x) { return burn(x, 50); }

static int leader_is_zombie(void)
{
	char path[64], line[512];
	char *state;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
	if ((f = fopen(path, "re")) == NULL)
		die(path);
	if (fgets(line, sizeof line, f) == NULL)
		die(path);
	fclose(f);
	state = strrchr(line, ')');
	return state != NULL && state[2] == 'Z';
}

static void *survivor(void *arg)
{
	uint64_t x = 1, n;

	if (arg == NULL) {
		while (!leader_is_zombie())
			sched_yield();
		ready();
	}
	for (n = 0; count == 0 ? !over() : n < count; n++) {
		x = work_on(x);
		atomic_fetch_add(&truth->work, 1);
	}
	atomic_fetch_add(&sum, n);
	if (atomic_fetch_sub(&working, 1) == 1)
		exit(done(atomic_load(&sum)));
	return arg;
}

int main(int argc, char **argv)
{
	int i;

	start(argc, argv, NULL);
	atomic_store(&working, threads);
	for (i = 0; i < threads; i++)
		spawn(survivor, (void *)(uintptr_t)i);
	pthread_exit(NULL);
}
