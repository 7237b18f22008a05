/*
 * forkwhile: reads letters. At "h" a thread calls hot. At "f" each of -t other threads forks a child, which
 * with -g forks another one. Each of these calls hot too, many times, and exits. The checksum is the number
 * of children.
 */
#include "ptest.h"
#include "children.h"

enum { CALLS = 100 };

static _Atomic int may_call, may_fork;
static int grandchildren;

NOINLINE static int hot(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

static void await(_Atomic int *flag)
{
	while (!atomic_load(flag))
		poll(NULL, 0, 1);
}

static void *caller(void *arg)
{
	await(&may_call);
	hot(1);
	return arg;
}

static int child(void)
{
	int i, sum = 0;

	for (i = 0; i < CALLS; i++)
		sum += hot(1);
	return sum - CALLS;
}

/* fork(3) in several threads at the same time would wait for locks of the C library. */
static pid_t raw_fork(void) { return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }

static void *forker(void *arg)
{
	pid_t pid;
	int status;

	await(&may_fork);
	if ((pid = raw_fork()) == 0) {
		if (grandchildren && (pid = raw_fork()) != 0)
			_exit(pid < 0 || waitpid(pid, &status, 0) != pid || status != 0);
		_exit(child());
	}
	if (pid < 0)
		die("fork");
	reap(pid, 0);
	return arg;
}

static void await_letter(char letter)
{
	char got;

	if (read(0, &got, 1) != 1 || got != letter)
		die("standard input");
}

static void extra(int letter, const char *value UNUSED) { grandchildren |= letter == 'g'; }

int main(int argc, char **argv)
{
	pthread_t t[64], c;
	int i;

	start(argc, argv, extra);
	c = spawn(caller, NULL);
	for (i = 0; i < threads && i < 64; i++)
		t[i] = spawn(forker, NULL);
	ready();
	await_letter('h');
	may_call = 1;
	await_letter('f');
	may_fork = 1;
	while (--i >= 0)
		pthread_join(t[i], NULL);
	pthread_join(c, NULL);
	return done((uint64_t)threads);
}
