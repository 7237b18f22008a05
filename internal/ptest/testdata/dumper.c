/*
 * dumper: with -t THREADS that sleep, it aborts at a byte on standard input, and dumps core.
 */
#include "ptest.h"
#include <sys/resource.h>

char apart[37 << 12]; /* no other target has this size, which tells address spaces apart without kcmp(2) */

static void *sleeper(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	char c;

	start(argc, argv, NULL);
	setrlimit(RLIMIT_CORE, &all);
	for (int i = 0; i < threads; i++)
		spawn(sleeper, NULL);
	ready();
	if (read(0, &c, 1) == 1)
		abort();
	return done(0);
}
