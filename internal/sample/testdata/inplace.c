/*
 * inplace: maps a page of its own file at one place, that of first and that of second by turns. Each is called until it has used
 * 30 and 10 units of processor time. The argument is how many microseconds a unit has.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096, LONG = 30, SHORT = 10 };

#define ALONE __attribute__((noinline, noclone, aligned(PAGE)))

ALONE void first(void)
{
	for (volatile long i = 0; i < 50000; i++)
		;
}

ALONE void second(void)
{
	for (volatile long i = 0; i < 50000; i++)
		;
}

ALONE static long used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

extern char __executable_start;

int main(int argc, char **argv)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	long unit = 1000L * atol(argv[argc - 1]);
	char *page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	puts("ready");
	fflush(stdout);
	for (int turn = 0;; turn++) {
		char *code = turn % 2 == 0 ? (char *)first : (char *)second;
		long end = used() + unit * (turn % 2 == 0 ? LONG : SHORT);

		if (mmap(page, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, code - &__executable_start) != page)
			return 1;
		while (used() < end)
			((void (*)(void))page)();
	}
}
