/*
 * forkstorm: -t threads fork -n children each. By turns a child exits, kills itself, forks a child of
 * its own, or execs. Every end is compared with the expected one. The checksum is the number of
 * children.
 */
#include "ptest.h"
#include "children.h"

NOINLINE static int in_child(int code) { return code & 0x3f; }

static void child(uint64_t n, int code)
{
	char text[8];
	char *argv[] = { self_file, "child", text, NULL };
	pid_t pid;
	int status;

	atomic_fetch_add(&truth->kind[n % 4], 1);
	switch (n % 4) {
	case 0:
		_exit(in_child(code));
	case 1:
		kill(getpid(), SIGKILL);
		_exit(99);
	case 2:
		pid = fork();
		if (pid == 0)
			_exit(in_child(code));
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			_exit(98);
		_exit(WEXITSTATUS(status));
	default:
		text[0] = (char)('0' + code / 10);
		text[1] = (char)('0' + code % 10);
		text[2] = '\0';
		execv(self_file, argv);
		_exit(97);
	}
}

static void *storm(void *arg)
{
	uint64_t n;

	for (n = 0; more(n); n++) {
		int code = (int)((n + (uintptr_t)arg) % 60);
		pid_t pid = fork();

		if (pid == 0)
			child(n, code);
		if (pid < 0)
			die("fork");
		reap(pid, n % 4 == 1 ? -SIGKILL : code);
	}
	return (void *)(uintptr_t)n;
}

int main(int argc, char **argv)
{
	maybe_child(argc, argv);
	find_self();
	start(argc, argv, NULL);
	ready();
	return done(in_threads(storm));
}
