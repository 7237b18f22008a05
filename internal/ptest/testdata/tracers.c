/*
 * tracers: -t threads fork children again and again, -n times each (0: until standard input ends). They
 * trace each child as soon as it exists, by PTRACE_SEIZE and PTRACE_ATTACH in turn. The child waits for a
 * byte, is detached, and ends with its number. The errors count refused traces and wrong ends.
 */
#include "ptest.h"
#include "children.h"
#include <sys/ptrace.h>

static void trace_child(uint64_t n)
{
	int fd[2], status, err;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) != 0)
		die("pipe2");
	if ((pid = fork()) < 0)
		die("fork");
	if (pid == 0) {
		char c;
		ssize_t r;

		while ((r = read(fd[0], &c, 1)) < 0 && errno == EINTR)
			;
		_exit(r == 1 ? (int)(n % 100) : 101);
	}
	if (n % 2 == 0) {
		err = ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0 || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0 ? errno : 0;
	} else {
		err = ptrace(PTRACE_ATTACH, pid, NULL, NULL) != 0 ? errno : 0;
	}
	if (err != 0)
		wrong("trace child: %s", strerror(err));
	else if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
		wrong("child %d did not stop: %#x", (int)pid, status);
	else if (ptrace(PTRACE_DETACH, pid, NULL, NULL) != 0)
		wrong("detach: %s", strerror(errno));
	if (write(fd[1], "x", 1) != 1)
		die("write");
	reap(pid, (int)(n % 100));
	close(fd[0]);
	close(fd[1]);
}

static void *storm(void *arg UNUSED)
{
	uint64_t n;

	for (n = 0; more(n); n++)
		trace_child(n);
	return (void *)(uintptr_t)n;
}

int main(int argc, char **argv)
{
	uint64_t sum;

	start(argc, argv, NULL);
	ready();
	sum = in_threads(storm);
	return done(count == 0 ? 0 : sum);
}
