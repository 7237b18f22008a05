/*
 * execstorm: execs itself -n times (0: until standard input ends) and passes its count on in the
 * arguments. With -T a thread that is not the leader makes every other exec. -t is the number of
 * threads that spin meanwhile, and that the exec ends. The checksum is the count.
 */
#include "ptest.h"
#include "children.h"

static uint64_t round_;
static int by_thread;
static char **args;

static void extra(int letter, const char *value)
{
	if (letter == 'T')
		by_thread = 1;
	if (letter == 'i')
		round_ = strtoull(value, NULL, 0);
}

NOINLINE static void exec_again(void)
{
	char i[24], n[24], t[12];
	char *argv[] = { args[0], "-n", n, "-t", t, "-i", i, by_thread ? "-T" : NULL, NULL };

	snprintf(i, sizeof i, "%llu", (unsigned long long)(round_ + 1));
	snprintf(n, sizeof n, "%llu", (unsigned long long)count);
	snprintf(t, sizeof t, "%d", threads);
	execv(self_file, argv);
	die("execv");
}

static void *by_another(void *arg)
{
	exec_again();
	return arg;
}

static void *spin(void *arg)
{
	for (;;)
		__asm__ volatile("" ::: "memory");
	return arg;
}

int main(int argc, char **argv)
{
	int i;

	threads = 0;
	args = argv;
	start(argc, argv, extra);
	find_self();
	if (round_ == 0)
		ready();
	atomic_fetch_add(&truth->work, 1);
	if (count == 0 ? over() : round_ >= count)
		return done(round_);
	for (i = 0; i < threads; i++)
		spawn(spin, NULL);
	if (!by_thread || round_ % 2 == 0)
		exec_again();
	spawn(by_another, NULL);
	for (;;)
		pause();
}
