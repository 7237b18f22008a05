/*
 * vforkstorm: -t threads vfork -n children each, several at once. By turns a child exits at once, or
 * execs this program. Until then it runs in our memory, in the function in_vfork, which the parent's
 * threads run too. The checksum is the number of children.
 */
#include "ptest.h"
#include "children.h"

NOINLINE static int in_vfork(int code)
{
	__asm__ volatile("" : "+r"(code));
	return code & 0x3f;
}

NOINLINE static pid_t start_child(uint64_t n, int code, char **argv)
{
	pid_t pid = vfork();

	if (pid != 0)
		return pid;
	if (n % 2 == 0)
		_exit(in_vfork(code));
	in_vfork(code);
	execv(argv[0], argv);
	_exit(97);
}

static void *storm(void *arg)
{
	char text[8];
	char *argv[] = { self_file, "child", text, NULL };
	uint64_t n;

	for (n = 0; more(n); n++) {
		int code = (int)((n + (uintptr_t)arg) % 60);
		pid_t pid;

		snprintf(text, sizeof text, "%d", code);
		pid = start_child(n, code, argv);
		if (pid < 0)
			die("vfork");
		if (in_vfork(code) != code)
			wrong("in_vfork(%d)", code);
		reap(pid, code);
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
