/*
 * starved: -t threads of the lowest priority (SCHED_IDLE) count on one processor, and -o other processes use that
 * processor up. The work counter of the page moves when a thread is given the processor. The checksum is 0.
 */
#include "ptest.h"
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static _Atomic int stop;
static int others = 2;

static void extra(int letter, const char *value)
{
	if (letter == 'o')
		others = atoi(value);
}

NOINLINE static void *starve(void *arg)
{
	struct sched_param none = { 0 };

	if (sched_setscheduler(0, SCHED_IDLE, &none) != 0)
		die("sched_setscheduler");
	while (!atomic_load(&stop))
		atomic_fetch_add(&truth->work, 1);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[64];
	pid_t hog[64];
	cpu_set_t one;
	int i;

	start(argc, argv, extra);
	if (threads > 64 || others > 64)
		return 2;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof one, &one) != 0)
		die("sched_setaffinity");
	for (i = 0; i < threads; i++)
		t[i] = spawn(starve, NULL);
	for (i = 0; i < others; i++)
		if ((hog[i] = fork()) == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				;
		}
	ready();
	await_end();
	for (i = 0; i < others; i++) {
		kill(hog[i], SIGKILL);
		waitpid(hog[i], NULL, 0);
	}
	atomic_store(&stop, 1);
	for (i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	return done(0);
}
