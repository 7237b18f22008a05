/*
 * clonevm: -t threads start -n processes each that share our memory and are no threads
 * (clone(CLONE_VM) without CLONE_THREAD), by turns with and without CLONE_VFORK and CLONE_FILES. The
 * child calls shared(), which counts in our memory, and exits; the checksum is the count.
 */
#include "ptest.h"
#include "children.h"
#include <sched.h>

static _Atomic uint64_t counted;

/* Called by the children and by our threads. */
NOINLINE void shared(void) { atomic_fetch_add(&counted, 1); }

/* The child has our thread's TLS, so it uses no libc: errno would be ours. */
static int child(void *arg)
{
	shared();
	syscall(SYS_exit, (long)(uintptr_t)arg);
	return 0;
}

static void *storm(void *arg)
{
	static const int flags[] = { 0, CLONE_VFORK, CLONE_FILES | CLONE_FS, CLONE_VFORK | CLONE_FILES };
	const size_t size = 64 << 10;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t n;

	if (stack == MAP_FAILED)
		die("mmap");
	for (n = 0; more(n); n++) {
		int code = (int)((n + (uintptr_t)arg) % 60);
		pid_t pid = clone(child, stack + size, CLONE_VM | SIGCHLD | flags[n % 4], (void *)(uintptr_t)code);

		if (pid < 0)
			die("clone");
		shared();
		reap(pid, code);
	}
	munmap(stack, size);
	return (void *)(uintptr_t)n;
}

int main(int argc, char **argv)
{
	uint64_t n;

	start(argc, argv, NULL);
	ready();
	n = in_threads(storm);
	if (atomic_load(&counted) != 2 * n)
		wrong("counted %llu, not %llu", (unsigned long long)counted, (unsigned long long)(2 * n));
	return done(atomic_load(&counted));
}
