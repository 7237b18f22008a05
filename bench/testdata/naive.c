/*
 * naive HZ PID: a sampler as one would first write it: HZ times a second it interrupts each thread,
 * waits for it, reads its registers and 4 KiB of its stack and lets it go on, one after the other. It
 * ends with SIGINT, or with its target.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

enum { MAX = 20000 };

static int tids[MAX], n;
static volatile sig_atomic_t stop;

static void on_int(int sig)
{
	(void)sig;
	stop = 1;
}

static void seize_all(int pid)
{
	char path[64];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	if ((d = opendir(path)) == NULL) {
		perror(path);
		exit(1);
	}
	while ((e = readdir(d)) != NULL && n < MAX)
		if (atoi(e->d_name) > 0 && ptrace(PTRACE_SEIZE, atoi(e->d_name), 0, 0) == 0)
			tids[n++] = atoi(e->d_name);
	closedir(d);
}

static int look(int tid)
{
	static char stack[4096];
	struct user_regs_struct r;
	struct iovec to = { stack, sizeof stack }, from;
	int status;

	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0 || waitpid(tid, &status, __WALL) < 0 || !WIFSTOPPED(status))
		return -1;
	ptrace(PTRACE_GETREGS, tid, 0, &r);
	from = (struct iovec){ (void *)r.rsp, sizeof stack };
	process_vm_readv(tid, &to, 1, &from, 1, 0);
	return (int)ptrace(PTRACE_CONT, tid, 0, status >> 16 != 0 ? 0 : WSTOPSIG(status));
}

int main(int argc, char **argv)
{
	struct timespec next;
	long period;
	int i;

	if (argc != 3)
		return 2;
	period = 1000000000L / atoi(argv[1]);
	signal(SIGINT, on_int);
	seize_all(atoi(argv[2]));
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (!stop) {
		for (i = 0; i < n && !stop; i++)
			if (look(tids[i]) < 0 && errno == ESRCH)
				return 0;
		next.tv_nsec += period;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return 0; /* the kernel lets the threads go */
}
