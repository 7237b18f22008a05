/*
 * uring: waits three times for a completion that never comes, by io_uring_enter(2) with a relative
 * timeout of 100 ms. Every wait has to end with ETIME. Without io_uring it prints "none".
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	struct io_uring_params p;
	struct __kernel_timespec ts = { .tv_nsec = 100000000 };
	struct io_uring_getevents_arg arg = { .ts = (uint64_t)(uintptr_t)&ts };
	long fd, n;
	int i;

	memset(&p, 0, sizeof p);
	fd = syscall(SYS_io_uring_setup, 4, &p);
	if (fd < 0) {
		puts("none");
		return 0;
	}
	puts("ready");
	fflush(stdout);
	for (i = 0; i < 3; i++) {
		n = syscall(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg, sizeof arg);
		if (n != -1 || errno != ETIME) {
			printf("%ld: %s\n", n, strerror(errno));
			return 1;
		}
	}
	return 0;
}
