/*
 * lazypages: a thread runs on a stack whose upper pages do not exist yet. A second thread provides them at
 * the first access (userfaultfd), as in programs that are restored page by page. The first thread sleeps
 * below them until standard input ends, so only a reader of its stack accesses them. -k without: the pages
 * are ordinary ones.
 */
#include "ptest.h"
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

enum { PAGE = 4096, PAGES = 32, BELOW = 16 };

static int plain;
static int uffd;
static char page[PAGE] __attribute__((aligned(PAGE)));
static _Atomic int served;
static char *stack;

static void extra(int letter, const char *value)
{
	if (letter == 'k')
		plain = strcmp(value, "plain") == 0;
}

static void *serve(void *arg)
{
	struct uffd_msg msg;

	while (read(uffd, &msg, sizeof msg) == (ssize_t)sizeof msg) {
		struct uffdio_copy copy = {
			.dst = msg.arg.pagefault.address & ~(uint64_t)(PAGE - 1), .src = (uint64_t)(uintptr_t)page, .len = PAGE,
		};

		if (ioctl(uffd, UFFDIO_COPY, &copy) != 0 && errno != EEXIST)
			die("UFFDIO_COPY");
		atomic_fetch_add(&served, 1);
	}
	return arg;
}

NOINLINE static void below(void)
{
	for (;;)
		pause();
}

static void *sleeper(void *arg)
{
	/* The stack pointer goes to the lower half, whose pages exist, and never comes back. */
	CALL_ON(stack + BELOW * PAGE - 64, below);
	return arg;
}

int main(int argc, char **argv)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg;

	start(argc, argv, extra);
	stack = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED)
		die("mmap");
	memset(stack, 0, BELOW * PAGE);
	if (!plain) {
		uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
		if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) != 0)
			die("userfaultfd");
		reg = (struct uffdio_register){ .range = { (uint64_t)(uintptr_t)(stack + BELOW * PAGE), (PAGES - BELOW) * PAGE },
			.mode = UFFDIO_REGISTER_MODE_MISSING };
		if (ioctl(uffd, UFFDIO_REGISTER, &reg) != 0)
			die("UFFDIO_REGISTER");
		spawn(serve, NULL);
	}
	spawn(sleeper, NULL);
	ready();
	await_end();
	printf("served %d\n", atomic_load(&served));
	return done(0);
}
