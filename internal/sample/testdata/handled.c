// Sends itself one signal after the other, whose handler does nothing: much of the time goes to rt_sigreturn(2).
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

volatile unsigned long sink;

static void handler(int sig) { sink += sig; }

__attribute__((noinline)) void raiser(void)
{
	for (int i = 0; i < 100; i++)
		kill(getpid(), SIGUSR1);
	sink++;
}

int main(void)
{
	signal(SIGUSR1, handler);
	puts("ready");
	fflush(stdout);
	for (;;)
		raiser();
}
