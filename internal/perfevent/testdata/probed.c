/*
 * Calls probed() as often as a line of standard input says, then prints how many SIGTRAPs came.
 * If a line begins with t, a new thread makes the calls. At the line l the first thread ends, and another reads on.
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

static void *answer(void *arg)
{
	char line[64];

	while (fgets(line, sizeof line, stdin) != NULL) {
		traps = 0;
		if (line[0] == 'l') {
			pthread_t t;

			if (pthread_create(&t, NULL, answer, NULL) != 0)
				exit(3);
			pthread_exit(NULL);
		} else if (line[0] != 't') {
			calls((void *)atol(line));
		} else {
			pthread_t t;

			if (pthread_create(&t, NULL, calls, (void *)atol(line + 1)) != 0)
				exit(3);
			pthread_join(t, NULL);
		}
		printf("%d\n", (int)traps);
		fflush(stdout);
	}
	exit(0);
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = trapped };

	sigaction(SIGTRAP, &sa, NULL);
	puts("ready");
	fflush(stdout);
	answer(NULL);
}
