/*
 * sharers: a process that shares our memory and is no thread (clone(CLONE_VM) without CLONE_VFORK), and -t
 * threads of it, wait for the end of standard input as we do; its number is the first line. Then all
 * of us call shared(), which counts in the memory; the checksum is the count.
 */
#include "ptest.h"
#include "children.h"
#include <sched.h>

static _Atomic uint64_t counted;
static _Atomic int ended;

NOINLINE void shared(void) { atomic_fetch_add(&counted, 1); }

/* These have our thread's TLS, so they use no libc but for what cannot fail. */
static void wait_and_share(void)
{
	char b[64];

	while (syscall(SYS_read, 0, b, sizeof b) > 0)
		;
	shared();
}

static int thread(void *arg)
{
	wait_and_share();
	atomic_fetch_add(&ended, 1);
	syscall(SYS_exit, 0);
	return arg != NULL;
}

static char *stack(void)
{
	const size_t size = 64 << 10;
	char *s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		die("mmap");
	return s + size;
}

static int child(void *arg)
{
	int i;

	for (i = 0; i < threads; i++)
		if (clone(thread, stack(), CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, NULL) < 0)
			syscall(SYS_exit_group, 3);
	wait_and_share();
	while (atomic_load(&ended) != threads)
		__asm__ volatile("pause" ::: "memory");
	syscall(SYS_exit_group, 7);
	return arg != NULL;
}

int main(int argc, char **argv)
{
	pid_t pid;

	start(argc, argv, NULL);
	pid = clone(child, stack(), CLONE_VM | SIGCHLD, NULL);
	if (pid < 0)
		die("clone");
	printf("%d\n", (int)pid);
	ready();
	await_end();
	shared();
	reap(pid, 7);
	return done(atomic_load(&counted));
}
