// left: when standard input ends, functions are called N times that are left in every way: by
// return, a jump to another function, longjmp, an exception, the end of the thread; and on two
// stacks at once. Where on the stack they are called varies.
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

static jmp_buf back;

extern "C" {
long by_jump(long n); // jumps to by_return

__attribute__((noipa)) long by_return(long n)
{
	__asm__ volatile("" ::: "memory");
	return 2 * n + 1;
}

__attribute__((noipa)) long by_longjmp(long n)
{
	longjmp(back, 1);
	return n;
}

__attribute__((noipa)) long by_throw(long n)
{
	throw n;
}

__attribute__((noipa)) long by_exit(long n)
{
	pthread_exit(nullptr);
	return n;
}

__attribute__((noipa)) long across_stacks(long n)
{
	raise(SIGUSR1);
	return n + 7;
}
}

__asm__(".text\n"
	".globl by_jump\n"
	".type by_jump, @function\n"
	"by_jump: jmp by_return\n"
	".size by_jump, .-by_jump\n");

static void on_usr1(int)
{
	if (by_return(100) != 201)
		abort();
}

static void *ending(void *arg)
{
	by_exit(1);
	return arg;
}

// The handler's stack lies above the stack of the thread that is interrupted.
static void *worker(void *arg)
{
	stack_t high = {};
	long i, n = (long)arg;
	pthread_t t;

	high.ss_sp = alloca(1 << 16);
	high.ss_size = 1 << 16;
	if (sigaltstack(&high, nullptr) != 0)
		abort();
	for (i = 0; i < n; i++) {
		size_t size = 16 * (size_t)(i % 4000) + 16;
		memset(alloca(size), 0x55, size);
		if (by_return(i) != 2 * i + 1 || by_jump(i) != 2 * i + 1 || across_stacks(i) != i + 7)
			abort();
		if (setjmp(back) == 0)
			by_longjmp(i);
		try {
			by_throw(i);
		} catch (long) {
		}
		if (pthread_create(&t, nullptr, ending, nullptr) != 0)
			abort();
		pthread_join(t, nullptr);
	}
	high.ss_flags = SS_DISABLE;
	sigaltstack(&high, nullptr);
	return nullptr;
}

int main(int argc, char **argv)
{
	struct sigaction sa = {};
	pthread_attr_t attr;
	pthread_t t;
	char c;

	sa.sa_handler = on_usr1;
	sa.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &sa, nullptr);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1UL << 30);
	if (argc < 2 || pthread_create(&t, &attr, worker, (void *)atol(argv[1])) != 0)
		return 2;
	return pthread_join(t, nullptr);
}
