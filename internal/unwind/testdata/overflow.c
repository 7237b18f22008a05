// Recursion into the guard page of the stack, again and again: the handler works on an alternate
// stack and leaves by siglongjmp. A second signal arrives inside of the handler.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile unsigned long sink;
static sigjmp_buf back;

NOINLINE void labour(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
	sink++;
}

static void nested(int sig)
{
	labour(20000);
	sink += sig;
}

static void handler(int sig)
{
	labour(20000);
	raise(SIGUSR1);
	sink += sig;
	siglongjmp(back, 1);
}

NOINLINE unsigned long recurse(int depth)
{
	volatile char big[4000];
	memset((char *)big, depth, sizeof big);
	return recurse(depth + 1) + big[depth % 4000];
}

int main(void)
{
	// 256 KiB of stack make a few frames of it, and the limit counts from an exec on.
	struct rlimit r = {256 << 10, 256 << 10};
	if (!getenv("SMALL")) {
		setrlimit(RLIMIT_STACK, &r);
		setenv("SMALL", "1", 1);
		execl("/proc/self/exe", "overflow", NULL);
	}
	stack_t ss = {.ss_sp = malloc(65536), .ss_size = 65536};
	sigaltstack(&ss, 0);
	struct sigaction sa;
	memset(&sa, 0, sizeof sa);
	sa.sa_flags = SA_ONSTACK;
	sa.sa_handler = handler;
	sigaction(SIGSEGV, &sa, 0);
	sa.sa_handler = nested;
	sigaction(SIGUSR1, &sa, 0);
	puts("ready");
	fflush(stdout);
	for (;;)
		if (sigsetjmp(back, 1) == 0)
			recurse(0);
}
