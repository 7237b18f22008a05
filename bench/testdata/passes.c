/*
 * passes: two threads on one processor, the lowest that they may use, pass a byte through two pipes,
 * until standard input ends. Work on the page is passes.
 */
#include "ptest.h"
#include <sched.h>

static int there[2], back[2];

/* A closed pipe cannot be: the process ends by the first thread's return from main. */
static void pass(int from, int to)
{
	char b;

	for (;;) {
		if (read(from, &b, 1) != 1 || write(to, &b, 1) != 1)
			die("pass");
		atomic_fetch_add(&truth->work, 1);
	}
}

static void *near_end(void *arg)
{
	pass(there[0], back[1]);
	return arg;
}

static void *far_end(void *arg)
{
	pass(back[0], there[1]);
	return arg;
}

int main(int argc, char **argv)
{
	cpu_set_t may, one;
	int i;

	start(argc, argv, NULL);
	if (pipe(there) != 0 || pipe(back) != 0 || sched_getaffinity(0, sizeof may, &may) != 0)
		die("passes");
	for (i = 0; !CPU_ISSET(i, &may); i++)
		;
	CPU_ZERO(&one);
	CPU_SET(i, &one);
	if (sched_setaffinity(0, sizeof one, &one) != 0)
		die("sched_setaffinity");
	spawn(near_end, NULL);
	spawn(far_end, NULL);
	if (write(there[1], "b", 1) != 1)
		die("write");
	ready();
	await_end();
	return done(0);
}
