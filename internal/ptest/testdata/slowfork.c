/*
 * slowfork: forks with so much memory that the copying of its page tables can be seen from outside. For
 * each line on standard input it prints "forking" and makes a child, which waits to be killed. -m MB is
 * how much address space it has. In the end it prints the number of children.
 */
#include "ptest.h"
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static size_t size = 512 << 20;

static void extra(int letter, const char *value)
{
	if (letter == 'm')
		size = (size_t)atoi(value) << 20;
}

int main(int argc, char **argv)
{
	char line[16];
	char *p;
	uint64_t n = 0;

	start(argc, argv, extra);
	/* All pages that are only read are one page of zeros, with a table entry for each address. */
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED || madvise(p, size, MADV_NOHUGEPAGE))
		die("mmap");
	p[0] = 1; /* memory without a page of its own is not copied */
	for (size_t i = 4096; i < size; i += 4096)
		(void)*(volatile char *)(p + i);
	ready();
	while (fgets(line, sizeof line, stdin)) {
		pid_t pid;

		printf("forking\n");
		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		if (pid < 0)
			die("fork");
		n++;
		if (waitpid(pid, NULL, 0) != pid)
			die("waitpid");
	}
	return done(n);
}
