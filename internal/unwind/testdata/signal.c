// A timer signal every 200 microseconds, whose handler works on an alternate stack,
// while the chain main > outer > inner works on the ordinary one.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile unsigned long sink;

NOINLINE void work(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
	sink++;
}

NOINLINE void labour(int n)
{
	for (int i = 0; i < n; i++)
		sink += 2 * i;
	sink++;
}

NOINLINE void handle(void)
{
	labour(20000);
	sink++;
}

static void handler(int sig)
{
	handle();
	sink += sig;
}

NOINLINE void inner(void) { work(1000); sink++; }
NOINLINE void outer(void) { inner(); sink++; }

int main(void)
{
	stack_t ss = {.ss_sp = malloc(65536), .ss_size = 65536};
	sigaltstack(&ss, 0);
	struct sigaction sa;
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = handler;
	sa.sa_flags = SA_ONSTACK | SA_RESTART;
	sigaction(SIGALRM, &sa, 0);
	struct itimerval it = {{0, 200}, {0, 200}};
	setitimer(ITIMER_REAL, &it, 0);
	puts("ready");
	fflush(stdout);
	for (;;)
		outer();
}
