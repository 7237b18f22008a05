/*
 * naps: sleeps -n times 20 ms by nanosleep. The room for the remaining time is filled with an impossible
 * one before. Calls that succeed and have written there all the same are counted (the page's first kind).
 */
#include "ptest.h"
#include <sys/syscall.h>

int main(int argc, char **argv)
{
	uint64_t n;

	start(argc, argv, NULL);
	ready();
	for (n = 0; count == 0 ? !over() : n < count; n++) {
		struct timespec nap = { .tv_nsec = 20000000 }, left = { .tv_sec = 77 };

		if (syscall(SYS_nanosleep, &nap, &left) != 0)
			atomic_fetch_add(&truth->eintr, 1);
		else if (left.tv_sec != 77)
			atomic_fetch_add(&truth->kind[0], 1);
		atomic_fetch_add(&truth->work, 1);
	}
	return done(count);
}
