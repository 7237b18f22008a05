/*
 * starter PROGRAM [ARG...]: runs a program as its child, writes the child's PID to descriptor 3, waits,
 * and ends as the child has ended. It is the parent of a target that must not be the test's own child.
 */
#include "ptest.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void end_as(int status)
{
	const struct rlimit none = { 0, 0 }; /* no second core */
	sigset_t set;

	if (WIFEXITED(status))
		exit(WEXITSTATUS(status));
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(status));
	exit(128 + WTERMSIG(status));
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	if ((pid = fork()) < 0)
		die("fork");
	if (pid == 0) {
		close(3);
		execvp(argv[1], argv + 1);
		die(argv[1]);
	}
	dprintf(3, "%d\n", (int)pid);
	close(3);
	close(0); /* only the child has it, so that the child sees the end, and the test sees the child's end */
	close(1);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	end_as(status);
}
