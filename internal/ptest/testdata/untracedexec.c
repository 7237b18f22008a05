/*
 * untracedexec: when standard input has a byte it makes a thread by clone(CLONE_UNTRACED). The thread
 * executes the program again, with "again". That one ends when standard input does.
 */
#include "ptest.h"
#include "children.h"
#include <linux/sched.h>
#include <sched.h>

static int again;

static void extra(int letter, const char *value)
{
	again = letter == 'a';
	(void)value;
}

NOINLINE static void pass(void) { atomic_fetch_add(&truth->work, 1); }

static int execute(void *arg)
{
	char *argv[] = { self_path, "-a", NULL };

	execv(self_path, argv);
	_exit(3);
	(void)arg;
}

int main(int argc, char **argv)
{
	static char stack[65536] __attribute__((aligned(16)));
	char b;

	start(argc, argv, extra);
	if (!again)
		ready();
	else
		puts("again"), fflush(stdout);
	if (read(0, &b, 1) == 1) {
		if (clone(execute, stack + sizeof stack, CLONE_UNTRACED | CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL) < 0)
			die("clone");
		for (;;)
			pause();
	}
	pass();
	return done(truth->work);
}
