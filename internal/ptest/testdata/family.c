/*
 * family: after a byte on standard input it makes -n children one after the other, and waits for each. A child burns -u
 * microseconds of processor time. Children of even number do so in young(), under that name. The others execute this program
 * again, and do it in grown(). For each child a line has its number, its name, and the nanoseconds that it has used by
 * wait4(2). If -u is a millisecond or more, a line before has how many of them were in that function. With -d each child
 * is made by another one, which ends before it. So it is no descendant of the family when it runs; only the number of such
 * children is printed.
 */
#include "ptest.h"
#include "burn.h"
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

static uint64_t each = 1000;
static int orphans;

NOINLINE static uint64_t young(uint64_t x, uint64_t until)
{
	while (cpu_now() < until)
		x = burn(x, 5);
	return x;
}

NOINLINE static uint64_t grown(uint64_t x, uint64_t until)
{
	while (cpu_now() < until)
		x = burn(x, 6); /* else compilers would make one function of both */
	return x;
}

static void extra(int letter, const char *value)
{
	if (letter == 'u')
		each = strtoull(value, NULL, 0);
	if (letter == 'd')
		orphans = 1;
}

/* Prints how much time a child has used in its function, which it entered at that moment. */
static void left(const char *name, uint64_t at)
{
	if (!orphans && each >= 1000)
		dprintf(1, "in %s %llu\n", name, (unsigned long long)(cpu_now() - at));
}

static void child(uint64_t n, const char *self)
{
	char text[32];
	char *argv[] = { (char *)self, "grown", text, NULL };
	uint64_t at;

	if (n % 2 == 0) {
		prctl(PR_SET_NAME, "young");
		at = cpu_now();
		n = young(n, each * 1000);
		left("young", at);
		_exit(n == 1);
	}
	snprintf(text, sizeof text, "%llu", (unsigned long long)each);
	execv(self, argv);
	_exit(97);
}

static uint64_t used(const struct rusage *r)
{
	return ((uint64_t)r->ru_utime.tv_sec + (uint64_t)r->ru_stime.tv_sec) * 1000000000u +
	       ((uint64_t)r->ru_utime.tv_usec + (uint64_t)r->ru_stime.tv_usec) * 1000u;
}

int main(int argc, char **argv)
{
	struct rusage r;
	uint64_t n, at;
	int status;
	pid_t pid;

	if (argc == 3 && strcmp(argv[1], "grown") == 0) {
		prctl(PR_SET_NAME, "grown");
		each = strtoull(argv[2], NULL, 0);
		at = cpu_now();
		n = grown(1, each * 1000);
		left("grown", at);
		_exit(n == 1);
	}
	start(argc, argv, extra);
	setlinebuf(stdout); /* children write to it, too */
	ready();
	getchar();
	for (n = 0; n < count; n++) {
		if ((pid = fork()) == 0) {
			if (orphans && fork() != 0)
				_exit(0);
			child(n, argv[0]);
		}
		if (pid < 0 || wait4(pid, &status, 0, &r) != pid)
			die("wait4");
		if (!orphans)
			printf("child %d %s %llu\n", pid, n % 2 ? "grown" : "young", (unsigned long long)used(&r));
	}
	printf("done %llu\n", (unsigned long long)n);
	return 0;
}
