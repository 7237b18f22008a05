/*
 * Calls probed() as often as a line of standard input says, then prints how many of the SIGTRAPs
 * that came were perf's, and the data of the last one. Every line is done by a new thread if it
 * begins with t.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t traps, others;
static volatile unsigned long data;
static volatile int sink;

__attribute__((noinline, noclone)) void probed(void) { sink++; }

static void trapped(int sig, siginfo_t *si, void *context)
{
	(void)sig, (void)context;
	if (si->si_code == 6) { /* TRAP_PERF */
		traps++;
		data = ((unsigned long *)si)[3]; /* si_perf_data */
	} else {
		others++;
	}
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
	struct sigaction sa = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO };
	char line[64];

	sigaction(SIGTRAP, &sa, NULL);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL) {
		traps = others = 0;
		if (line[0] != 't') {
			calls((void *)atol(line));
		} else {
			pthread_t t;

			if (pthread_create(&t, NULL, calls, (void *)atol(line + 1)) != 0)
				return 3;
			pthread_join(t, NULL);
		}
		printf("%d %d %lu\n", (int)traps, (int)others, (unsigned long)data);
		fflush(stdout);
	}
	return 0;
}
