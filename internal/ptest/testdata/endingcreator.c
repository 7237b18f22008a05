/*
 * endingcreator: when its input ends it creates a thread in make that ends the process at once. Before that, if it
 * may, it moves its tracer to its own processor, to run there only when nothing else does.
 */
#include "ptest.h"
#include <sched.h>
#include <sys/syscall.h>

static void *end(void *arg)
{
	syscall(SYS_exit_group, 0);
	return arg;
}

NOINLINE static void make(void)
{
	spawn(end, NULL);
	__asm__ volatile(""); /* no tail call */
}

static pid_t tracer(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	int pid = 0;

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (sscanf(line, "TracerPid: %d", &pid) == 1)
			break;
	if (pid == 0)
		die("/proc/self/status");
	fclose(f);
	return pid;
}

int main(void)
{
	struct sched_param none = { 0 };
	cpu_set_t one;
	pid_t pid;
	char b;

	ready();
	while (read(0, &b, 1) == 1)
		;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	pid = tracer();
	if (sched_setaffinity(0, sizeof one, &one) != 0)
		die("sched_setaffinity");
	(void)!sched_setaffinity(pid, sizeof one, &one);
	(void)!sched_setscheduler(pid, SCHED_IDLE, &none);
	make();
	for (;;)
		pause();
}
