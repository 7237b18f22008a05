/*
 * endings: functions whose calls end in all the ways that C and C++ have. For each line that it reads, a number of
 * rounds, it does them and prints how often each function was called, and how often a call has returned:
 * "plain 10 10 thrower 10 5 ...". It ends at the end of its input, with status 0 if all children lived.
 */
#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define KEEP extern "C" __attribute__((noinline, noclone, noipa))

enum { PLAIN, THROWER, CATCHER, JUMPER, DEEP, TAIL, YIELDER, N };
static const char *const names[N] = { "plain", "thrower", "catcher", "jumper", "deep", "tail", "yielder" };
static std::atomic<long> called[N], returned[N];
static std::atomic<long> sink;
static int failed;

template <class F> static auto counted(int which, F f)
{
	called[which]++;
	auto result = f();
	returned[which]++;
	return result;
}

KEEP long plain(long x) { sink += x; return x * 3; }

KEEP long thrower(long x)
{
	if (x & 1)
		throw x;
	return x + sink;
}

KEEP long catcher(long x)
{
	try {
		return counted(THROWER, [&] { return thrower(x); });
	} catch (long y) {
		sink += y;
		return y;
	}
}

static thread_local jmp_buf escape;

KEEP long jumper(long x)
{
	if (x % 3 == 0)
		longjmp(escape, 1);
	return x + sink;
}

KEEP long deep(long n)
{
	if (n == 0)
		return 1;
	return 1 + counted(DEEP, [&] { return deep(n - 1); });
}

/* jumps to plain, under a condition */
KEEP long tail(long x)
{
	if (x & 1)
		return plain(x);
	return sink;
}

static ucontext_t server, coroutines[4];

KEEP long yielder(long n)
{
	for (int i = 0; i < 3; i++)
		swapcontext(&coroutines[n], &server);
	return n;
}

static void coroutine(int n)
{
	for (;;) {
		counted(YIELDER, [&] { return yielder(n); });
		swapcontext(&coroutines[n], &server);
	}
}

static void *thread(void *arg)
{
	for (long i = 0; i < (long)arg; i++)
		counted(PLAIN, [&] { return plain(i); });
	return nullptr;
}

static void reap(pid_t pid)
{
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		failed = 1;
}

extern char **environ;

static void children(void)
{
	char name[] = "true", *argv[] = { name, nullptr };
	pid_t pid = fork();
	if (pid == 0) {
		for (long i = 0; i < 20; i++) {
			plain(i);
			catcher(i);
			deep(5);
			tail(i);
		}
		_exit(0);
	}
	reap(pid);
	if ((pid = fork()) == 0) {
		plain(1);
		execv("/bin/true", argv);
		_exit(1);
	}
	reap(pid);
	if ((pid = vfork()) == 0) {
		plain(1);
		execv("/bin/true", argv);
		_exit(1);
	}
	reap(pid);
	if (posix_spawn(&pid, "/bin/true", nullptr, nullptr, argv, environ) == 0)
		reap(pid);
}

static void work(long rounds)
{
	pthread_t threads[4];
	for (auto &t : threads)
		if (pthread_create(&t, nullptr, thread, (void *)rounds))
			exit(2);
	for (long i = 0; i < rounds; i++) {
		counted(CATCHER, [&] { return catcher(i); });
		if (!setjmp(escape))
			counted(JUMPER, [&] { return jumper(i); });
		counted(DEEP, [&] { return deep(i % 20); });
		if (i & 1)
			called[PLAIN]++, returned[PLAIN]++; /* by the jump */
		counted(TAIL, [&] { return tail(i); });
		swapcontext(&server, &coroutines[i % 4]);
		if (i % 100 == 0)
			children();
	}
	for (auto &t : threads)
		pthread_join(t, nullptr);
}

int main()
{
	static char stacks[4][1 << 16];
	for (int i = 0; i < 4; i++) {
		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = stacks[i];
		coroutines[i].uc_stack.ss_size = sizeof stacks[i];
		makecontext(&coroutines[i], (void (*)())coroutine, 1, i);
	}
	puts("ready");
	fflush(stdout);
	long rounds;
	while (scanf("%ld", &rounds) == 1) {
		work(rounds);
		for (int i = 0; i < N; i++)
			printf("%s %ld %ld ", names[i], called[i].load(), returned[i].load());
		puts("");
		fflush(stdout);
	}
	return failed;
}
