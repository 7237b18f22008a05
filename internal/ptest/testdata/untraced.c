/*
 * untraced: when standard input ends it makes a child by clone(CLONE_UNTRACED). It ends with the number of
 * the signal that has ended the child.
 */
#include "ptest.h"
#include "children.h"
#include <linux/sched.h>
#include <sys/resource.h>

#define UNTRACED 0x00800000

NOINLINE static int in_child(int code) { return code & 0x3f; }

int main(int argc, char **argv)
{
	const struct rlimit none = { 0, 0 }; /* no core */
	int status;
	pid_t pid;

	start(argc, argv, NULL);
	setrlimit(RLIMIT_CORE, &none);
	ready();
	await_end();
	pid = (pid_t)syscall(SYS_clone, UNTRACED | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		_exit(in_child(argc - 1));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("clone");
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}
