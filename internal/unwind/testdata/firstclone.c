/*
 * firstclone: makes a thread by clone(3) whenever a line comes. The words on top of a new thread's stack are the
 * function that it will call, and the argument of that.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int thread(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

int main(void)
{
	enum { SIZE = 64 << 10 };
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	char b;

	puts("ready");
	fflush(stdout);
	while (read(0, &b, 1) == 1)
		if (clone(thread, (char *)malloc(SIZE) + SIZE, flags, NULL) < 0)
			return 1;
	return 0;
}
