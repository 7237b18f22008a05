/*
 * sharer: a process that uses our memory, and is no thread (clone(CLONE_VM)), reads its standard input by the instruction
 * sharer_call, and calls sharer_spot for each byte. At the byte 'e' we execute the program of our first argument a little later.
 * That one is this source, built with -DOTHER. At the byte 'x' the other process ends. The status is 3 if it did not end so.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef OTHER
int main(int argc, char **argv)
{
	int status;

	puts("after");
	fflush(stdout);
	if (argc < 2 || waitpid(atoi(argv[1]), &status, 0) < 0)
		return 5;
	return status == 0 ? 0 : 3;
}
#else
static volatile int go;

long sharer_read(int fd, void *p, long n);
void sharer_spot(void);
void sharer_exit(int status);
__asm__(".text\n.globl sharer_read, sharer_call, sharer_spot, sharer_exit\n"
	".type sharer_read,@function\n.type sharer_call,@function\n.type sharer_spot,@function\n"
	"sharer_read: xorl %eax, %eax\n"
	"sharer_call: syscall\n"
	"\tret\n"
	"sharer_spot: nop\n\tret\n"
	"sharer_exit: movl $60, %eax\n\tsyscall\n");

/* It has our thread's TLS, so it uses no libc: errno would be ours. */
static int sharer(void *arg)
{
	static volatile char b;

	(void)arg;
	for (;;) {
		if (sharer_read(0, (void *)&b, 1) != 1)
			sharer_exit(4);
		if (b == 'x')
			sharer_exit(0);
		if (b == 'e')
			go = 1;
		sharer_spot();
	}
}

int main(int argc, char **argv)
{
	const size_t size = 64 << 10;
	char pid[12];
	char *next[] = { argv[1], pid, NULL };
	char *stack;

	(void)argc;
	stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	snprintf(pid, sizeof pid, "%d", clone(sharer, stack + size, CLONE_VM | SIGCHLD, NULL));
	puts("ready");
	fflush(stdout);
	while (!go)
		usleep(1000);
	usleep(50000); /* it is in its call again */
	execv(argv[1], next);
	return 6;
}
#endif
