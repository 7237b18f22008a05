/*
 * sharedmemory: makes a process that shares our memory and is no thread (clone(CLONE_VM) without CLONE_VFORK). That
 * process, -t threads of it, and we wait for the end of standard input. Its number is the first line. Then all
 * call shared(), which counts in the memory; the checksum is the count. The process is our child. With -k sibling it is
 * our parent's child (CLONE_PARENT), with -k orphan the child of a process that has ended. With -l its leader ends before
 * its threads.
 */
#include "ptest.h"
#include "children.h"
#include <sched.h>

static _Atomic uint64_t counted;
static _Atomic int ended;
static _Atomic int orphan;
static int leaderless;
static const char *kind = "child";

NOINLINE void shared(void) { atomic_fetch_add(&counted, 1); }

/* These have our thread's TLS, so of libc they only use functions that cannot fail. */
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
	if (atomic_fetch_add(&ended, 1) == threads - 1 && leaderless)
		syscall(SYS_exit_group, 7);
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
	if (leaderless)
		syscall(SYS_exit, 7);
	wait_and_share();
	while (atomic_load(&ended) != threads)
		PAUSE();
	syscall(SYS_exit_group, 7);
	return arg != NULL;
}

/* Makes the process as its own child, and ends. */
static int between(void *arg)
{
	atomic_store(&orphan, clone(child, stack(), CLONE_VM | SIGCHLD, NULL));
	syscall(SYS_exit_group, 7);
	return arg != NULL;
}

static void extra(int letter, const char *value)
{
	if (letter == 'k')
		kind = value;
	leaderless |= letter == 'l';
}

int main(int argc, char **argv)
{
	pid_t pid;
	int i;

	start(argc, argv, extra);
	if (strcmp(kind, "orphan") == 0) {
		if ((pid = clone(between, stack(), CLONE_VM | SIGCHLD, NULL)) < 0)
			die("clone");
		reap(pid, 7);
		pid = atomic_load(&orphan);
	} else {
		pid = clone(child, stack(), CLONE_VM | SIGCHLD | (strcmp(kind, "sibling") == 0 ? CLONE_PARENT : 0), NULL);
	}
	if (pid < 0)
		die("clone");
	printf("%d\n", (int)pid);
	ready();
	await_end();
	shared();
	if (strcmp(kind, "child") == 0)
		reap(pid, 7);
	else
		for (i = 0; i < 5000 && atomic_load(&counted) < (uint64_t)(1 + !leaderless + threads); i++)
			usleep(1000); /* another process's child: we cannot wait for its end */
	return done(atomic_load(&counted));
}
