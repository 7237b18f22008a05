// The chain main > launch > outer > work of a vfork child, on its parent's stack, while the parent
// waits inside vfork. With an argument the child stops its parent just behind vfork instead.
#include <signal.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile unsigned long sink;

NOINLINE void work(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
	sink++;
}

NOINLINE void outer(void)
{
	work(1000);
	sink++;
}

NOINLINE void launch(int stop)
{
	if (vfork() == 0) {
		if (stop) {
			kill(getppid(), SIGSTOP);
			_exit(0);
		}
		write(1, "ready\n", 6);
		for (;;)
			outer();
	}
	sink++;
}

int main(int argc, char **argv)
{
	(void)argv;
	launch(argc > 1);
	return 0;
}
