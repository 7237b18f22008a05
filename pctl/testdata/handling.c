/* handling: waits in the handler of a signal that its function work sent. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static void handler(int sig)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

__attribute__((noinline)) int work(void) { return kill(getpid(), SIGUSR1) + 1; }

int main(void)
{
	signal(SIGUSR1, handler);
	return work() + 1;
}
