/*
 * floor ADDRESS COPY PID: the least that a tracer can do for each hit of a breakpoint. It seizes
 * every thread, plants int3 at ADDRESS and waits, blocking. At a hit it counts, reads the registers,
 * emulates `push rbp` or, if COPY is not 0, sends the thread there, writes the registers and lets the
 * thread go on. It does nothing for threads that come later, and leaves the breakpoint behind: its
 * targets are thrown away.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

static void check(long r, const char *what)
{
	if (r < 0) {
		perror(what);
		exit(1);
	}
}

static void seize_all(int pid)
{
	char path[64];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	if ((d = opendir(path)) == NULL)
		check(-1, path);
	while ((e = readdir(d)) != NULL)
		if (atoi(e->d_name) > 0)
			check(ptrace(PTRACE_SEIZE, atoi(e->d_name), 0, 0), "seize");
	closedir(d);
}

/* Text is written through a stopped thread. */
static void plant(int pid, uint64_t addr)
{
	long word;
	int status;

	check(ptrace(PTRACE_INTERRUPT, pid, 0, 0), "interrupt");
	check(waitpid(pid, &status, __WALL), "wait");
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, addr, 0);
	check(-errno, "peek");
	check(ptrace(PTRACE_POKETEXT, pid, addr, (word & ~0xffL) | 0xcc), "poke");
	check(ptrace(PTRACE_CONT, pid, 0, 0), "cont");
}

static void push_rbp(int pid, struct user_regs_struct *r)
{
	struct iovec from = { &r->rbp, 8 }, to;

	r->rsp -= 8;
	to = (struct iovec){ (void *)r->rsp, 8 };
	check(process_vm_writev(pid, &from, 1, &to, 1, 0), "write");
}

int main(int argc, char **argv)
{
	uint64_t addr, copy, hits = 0;
	int pid;

	if (argc != 4)
		return 2;
	addr = strtoull(argv[1], NULL, 0);
	copy = strtoull(argv[2], NULL, 0);
	pid = atoi(argv[3]);
	seize_all(pid);
	plant(pid, addr);
	for (;;) {
		struct user_regs_struct r;
		int status, tid = waitpid(-1, &status, __WALL);

		if (tid < 0)
			break;
		if (!WIFSTOPPED(status))
			continue;
		if (WSTOPSIG(status) != SIGTRAP || status >> 16 != 0) {
			ptrace(PTRACE_CONT, tid, 0, status >> 16 != 0 ? 0 : WSTOPSIG(status));
			continue;
		}
		if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0 || r.rip != addr + 1)
			continue;
		hits++;
		if (copy != 0)
			r.rip = copy;
		else
			push_rbp(pid, &r);
		ptrace(PTRACE_SETREGS, tid, 0, &r);
		ptrace(PTRACE_CONT, tid, 0, 0);
	}
	printf("%llu hits\n", (unsigned long long)hits);
	return 0;
}
