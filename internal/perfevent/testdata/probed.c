/*
 * Calls probed() as often as a line of standard input says, then prints how many SIGTRAPs came.
 * If a line begins with t, a new thread makes the calls.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t traps;
static volatile int sink;

__attribute__((noinline, noclone)) void probed(void) { sink++; }

static void trapped(int sig)
{
	(void)sig;
	traps++;
}

static void *calls(void *arg)
{
	long n = (long)arg;

	while (n-- > 0)
		probed();
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = trapped };
	char line[64];

	sigaction(SIGTRAP, &sa, NULL);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL) {
		traps = 0;
		if (line[0] != 't') {
			calls((void *)atol(line));
		} else {
			pthread_t t;

			if (pthread_create(&t, NULL, calls, (void *)atol(line + 1)) != 0)
				return 3;
			pthread_join(t, NULL);
		}
		printf("%d\n", (int)traps);
		fflush(stdout);
	}
	return 0;
}
