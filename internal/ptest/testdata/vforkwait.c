/*
 * vforkwait: a thread stays inside vfork, in uninterruptible sleep (state D), because its child waits
 * for the end of standard input before it exits. -t other threads spin meanwhile. The child prints
 * "ready", so the thread is in vfork by then.
 */
#include "ptest.h"
#include "burn.h"
#include <sys/wait.h>

static _Atomic int stop;

static void *spin(void *arg)
{
	uint64_t x = 1, last = now();

	while (!atomic_load(&stop)) {
		uint64_t t;

		x = burn(x, 10);
		t = now();
		raise_to(&truth->gap, t - last);
		last = t;
		atomic_fetch_add(&truth->work, 1);
	}
	return arg;
}

/* Only system calls: the memory, and the locks of stdio in it, belong to our parent. */
NOINLINE static void in_child(void)
{
	(void)!write(1, "ready\n", 6);
	await_end();
	_exit(7);
}

static void *hang(void *arg)
{
	int status = 0;
	pid_t pid = vfork();

	if (pid == 0)
		in_child();
	if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
		wrong("vfork child: status %#x", status);
	atomic_store(&stop, 1);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[64];
	int i;

	start(argc, argv, NULL);
	if (threads > 63)
		threads = 63;
	t[0] = spawn(hang, NULL);
	for (i = 1; i <= threads; i++)
		t[i] = spawn(spin, NULL);
	for (i = 0; i <= threads; i++)
		pthread_join(t[i], NULL);
	return done((uint64_t)threads);
}
