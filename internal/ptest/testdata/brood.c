/*
 * brood CHILDREN CALLS: work is called CALLS times by each of CHILDREN processes, by a child of each, and by this process. branch is called once for each
 * child, which returns from it, too. Every eighth child then executes this program, which calls work as often again, and is not of the brood.
 * Every fifth child is killed inside work. It prints how many processes of the brood there were, and how many of them were killed.
 *
 * brood nest CHILDREN CALLS: outer is called CALLS times by each of CHILDREN processes at the same time, and calls within, which takes another time in each.
 *
 * brood reuse: a child is killed inside inner, and another one with its number returns from inner, in which its parent has forked it. For root.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone, noipa))

static volatile long sink;
static volatile int deadly;

KEEP long work(long n)
{
	if (deadly)
		raise(SIGKILL);
	return sink += n;
}

KEEP pid_t branch(void)
{
	pid_t pid = fork();
	sink++;
	return pid;
}

static pid_t killed;
static int stage;

KEEP pid_t inner(void)
{
	pid_t pid = -1;
	if (stage == 0)
		raise(SIGKILL);
	for (int i = 0; i < 100; i++) { // another process may take the number
		FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "w");
		if (!f)
			break;
		fprintf(f, "%d", killed - 1);
		fclose(f);
		pid = fork();
		if (pid == 0 || pid == killed)
			break;
		waitpid(pid, NULL, 0);
	}
	sink++;
	return pid;
}

static int reuse(void)
{
	pid_t pid;
	killed = fork();
	if (killed > 0) {
		waitpid(killed, NULL, 0);
		stage = 1;
	}
	pid = inner();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	puts(pid == killed ? "reused" : "not reused");
	return 0;
}

KEEP int naps(int ms)
{
	struct timespec t = { 0, ms * 1000000 };
	return nanosleep(&t, NULL);
}

static int length;

KEEP int within(void) { return naps(length) + 1; }
KEEP int outer(void) { return naps(1) + within() + 1; }

static int nest(long children, long n)
{
	for (long c = 0; c < children; c++)
		if (fork() == 0) {
			length = 2 + c;
			for (long i = 0; i < n; i++)
				outer();
			_exit(0);
		}
	while (waitpid(-1, NULL, 0) > 0)
		;
	return 0;
}

static void works(long n)
{
	for (long i = 0; i < n; i++)
		work(i);
}

int main(int argc, char **argv)
{
	if (strcmp(argv[1], "reuse") == 0)
		return reuse();
	if (strcmp(argv[1], "nest") == 0)
		return nest(atol(argv[2]), atol(argv[3]));
	long children = atol(argv[1]), n = atol(argv[2]);
	int processes = 1, killed = 0;
	if (children == 0) {
		works(n);
		return 0;
	}
	if (argc > 3) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	works(n);
	for (long c = 0; c < children; c++) {
		pid_t pid = branch();
		if (pid == 0) {
			works(n);
			pid_t grandchild = fork();
			if (grandchild == 0) {
				works(n);
				if (c % 5 == 0) {
					deadly = 1;
					work(1);
				}
				_exit(0);
			}
			if (c % 8 == 0)
				execl("/proc/self/exe", argv[0], "0", argv[2], NULL);
			waitpid(grandchild, NULL, 0);
			_exit(0);
		}
		processes += 2;
		killed += c % 5 == 0;
		if (c % 16 == 15)
			while (waitpid(-1, NULL, 0) > 0)
				;
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	printf("%d processes, %d killed\n", processes, killed);
	return 0;
}
