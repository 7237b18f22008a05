// Calls two functions in turns, each by a caller of its own, with frames that are larger than a copy of the stack. Then it works in a handler
// on an alternate stack, which one function is interrupted for, and without it in another.
#include <signal.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned long sink;

NOINLINE static void works(int n)
{
	for (int i = 0; i < n * 100000; i++)
		sink += i;
}

NOINLINE static void large_one(int n)
{
	volatile char frame[70000];

	frame[n] = 1;
	works(10);
	sink += frame[n];
}

NOINLINE static void large_two(int n)
{
	volatile char frame[70000];

	frame[n] = 2;
	works(10);
	sink += frame[n] + 1;
}

NOINLINE static void calls_one(int n)
{
	large_one(n);
	sink++;
}

NOINLINE static void calls_two(int n)
{
	large_two(n);
	sink += 2;
}

NOINLINE static void handler(int sig)
{
	works(10);
	sink += sig;
}

NOINLINE static void raises(void)
{
	raise(SIGUSR1);
	sink++;
}

NOINLINE static void innocent(void)
{
	works(10);
	sink++;
}

int main(int argc, char **argv)
{
	static char stack[128 << 10];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	(void)argv;
	if (sigaltstack(&alt, NULL) != 0 || sigaction(SIGUSR1, &sa, NULL) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		calls_one(argc);
		calls_two(argc);
		raises();
		innocent();
	}
}
