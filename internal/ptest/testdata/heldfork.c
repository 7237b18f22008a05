/*
 * heldfork: at a line on standard input it forks. The call does not return before a second line comes. It sleeps
 * uninterruptibly after the memory has been copied, until another process has read that event (userfaultfd,
 * UFFD_FEATURE_EVENT_FORK). The child calls in_child and ends; its end is compared with the expected one.
 */
#include "ptest.h"
#include "children.h"
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

enum { PAGE = 4096, CODE = 7 };

NOINLINE static int in_child(int code) { return code & 0x3f; }

static void await_line(void)
{
	char c = 0;

	while (c != '\n')
		if (read(0, &c, 1) != 1)
			_exit(0);
}

/* This is another process, because a traced one may be stopped when the second line comes. */
static void monitor(int uffd, int begin)
{
	struct uffd_msg msg;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	await_line();
	if (write(begin, "x", 1) != 1)
		die("write");
	await_line();
	if (read(uffd, &msg, sizeof msg) != (ssize_t)sizeof msg || msg.event != UFFD_EVENT_FORK)
		die("event of userfaultfd");
	_exit(0);
}

int main(int argc, char **argv)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_EVENT_FORK };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING, .range.len = PAGE };
	int uffd, begin[2];
	char *page, c;
	pid_t other, pid;

	start(argc, argv, NULL);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (page == MAP_FAILED || uffd < 0 || ioctl(uffd, UFFDIO_API, &api) != 0 || pipe(begin) != 0)
		die("userfaultfd");
	if ((other = fork()) == 0)
		monitor(uffd, begin[1]);
	reg.range.start = (uint64_t)(uintptr_t)page;
	if (other < 0 || ioctl(uffd, UFFDIO_REGISTER, &reg) != 0)
		die("UFFDIO_REGISTER");
	ready();
	if (read(begin[0], &c, 1) != 1)
		die("read");
	if ((pid = fork()) == 0)
		_exit(in_child(CODE));
	if (pid < 0)
		die("fork");
	reap(pid, CODE);
	reap(other, 0);
	return done(1);
}
