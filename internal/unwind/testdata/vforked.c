// The chain main > launch > outer > work of a vfork child, on its parent's stack, while the parent
// waits inside vfork.
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

NOINLINE void launch(void)
{
	if (vfork() == 0) {
		write(1, "ready\n", 6);
		for (;;)
			outer();
	}
	sink++;
}

int main(void)
{
	launch();
	return 0;
}
