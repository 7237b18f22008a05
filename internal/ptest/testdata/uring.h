/* What programs with io_uring share. */
#include "ptest.h"
#include <linux/io_uring.h>
#include <sys/syscall.h>

/* shared maps a part of a ring. */
static void *shared(int fd, size_t size, off_t off)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, off);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}
