/*
 * hazards: functions that are interrupted, left and entered again in ways that could mix up calls. Its argument is a shared
 * object with the function loaded, which it loads and unloads in turn. For each line that it reads, a number of rounds, it
 * does them and prints how often each function was called, and how often a call has returned: "even 10 10 leaver 10 5 ...".
 * For -1 it executes itself, for -2 it unloads the object. It ends at the end of its input, with status 0 if all children lived.
 */
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <initializer_list>
#include <pthread.h>
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP extern "C" __attribute__((noinline, noclone, noipa))

enum { INTERRUPTED, HANDLED, BRIEF, LEAVER, BLOCKED, EVEN, ODD, PING, PONG, LOADED, N };
static const char *const names[N] = { "interrupted", "handled", "brief", "leaver", "blocked", "even", "odd", "ping", "pong", "loaded" };
static std::atomic<long> called[N], returned[N];
static std::atomic<long> sink;
static const char *library;
static void *handle;
static int failed;

template <class F> static auto counted(int which, F f)
{
	called[which]++;
	auto result = f();
	returned[which]++;
	return result;
}

/* Signal handlers */

static sigjmp_buf escape;
static volatile sig_atomic_t jump;

KEEP long handled(long sig) { return sink += sig; }

KEEP long interrupted(long depth)
{
	jump = depth % 3 == 2;
	raise(depth % 3 ? SIGUSR1 : SIGUSR2);
	return sink + depth;
}

static void on_signal(int sig)
{
	counted(HANDLED, [&] { return handled(sig); });
	if (sig == SIGUSR2) /* the function that was interrupted, on this stack */
		counted(INTERRUPTED, [&] { return interrupted(1); });
	if (sig == SIGUSR1 && jump)
		siglongjmp(escape, 1);
}

/* Recursion */

KEEP long odd(long n);

KEEP long even(long n) { return n ? 1 + counted(ODD, [&] { return odd(n - 1); }) : sink.load(); }
KEEP long odd(long n) { return n ? 1 + counted(EVEN, [&] { return even(n - 1); }) : sink.load(); }

/* Each jumps to the other when it is optimized. */
KEEP long pong(long n);
KEEP long ping(long n) { return n ? pong(n - 1) : sink.load(); }
KEEP long pong(long n) { return n ? ping(n - 1) : sink.load(); }

static void play(long n)
{
	called[PING] += n / 2 + 1, returned[PING] += n / 2 + 1;
	called[PONG] += (n + 1) / 2, returned[PONG] += (n + 1) / 2;
	ping(n);
}

/* Threads that come and go */

KEEP long brief(long x) { return sink += x; }

KEEP long leaver(long x)
{
	if (x & 1)
		pthread_exit(nullptr);
	return sink += x;
}

KEEP long blocked(long x)
{
	if (x & 1)
		pause();
	return sink += x;
}

static void *thread(void *arg)
{
	long i = (long)arg;
	sigset_t alarm;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, nullptr); /* a handler that interrupts pause could be canceled */
	counted(BRIEF, [&] { return brief(i); });
	counted(LEAVER, [&] { return leaver(i / 2); });
	counted(BLOCKED, [&] { return blocked(i); });
	return nullptr;
}

static void swarm(long round)
{
	pthread_t threads[8];
	for (auto &t : threads)
		if (pthread_create(&t, nullptr, thread, (void *)(round + (&t - threads))))
			exit(2);
	for (auto &t : threads) {
		pthread_cancel(t);
		pthread_join(t, nullptr);
	}
}

extern char **environ;

static void spawn(void)
{
	char name[] = "true", *argv[] = { name, nullptr };
	pid_t pid;
	int status;
	if (posix_spawn(&pid, "/bin/true", nullptr, nullptr, argv, environ) || waitpid(pid, &status, 0) != pid || status != 0)
		failed = 1;
	if ((pid = fork()) == 0) {
		even(10);
		ping(10);
		interrupted(1);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		failed = 1;
}

static void load(void)
{
	if (handle && dlclose(handle))
		exit(2);
	if (!(handle = dlopen(library, RTLD_NOW)))
		exit(2);
}

static void work(long rounds)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = {};
	setitimer(ITIMER_REAL, &often, nullptr);
	for (long i = 0; i < rounds; i++) {
		if (!sigsetjmp(escape, 1))
			counted(INTERRUPTED, [&] { return interrupted(i); });
		counted(EVEN, [&] { return even(i % 20); });
		play(i % 20);
		if (i % 4 == 0)
			swarm(i);
		if (i % 8 == 0) {
			load();
			auto loaded = (long (*)(long))dlsym(handle, "loaded");
			counted(LOADED, [&] { return loaded(i); });
		}
		if (i % 32 == 0)
			spawn();
	}
	setitimer(ITIMER_REAL, &never, nullptr);
}

int main(int, char **argv)
{
	static char stack[1 << 16];
	stack_t other = {};
	other.ss_sp = stack;
	other.ss_size = sizeof stack;
	sigaltstack(&other, nullptr);
	struct sigaction action = {};
	action.sa_handler = on_signal;
	action.sa_flags = SA_RESTART | SA_ONSTACK;
	for (int sig : { SIGUSR1, SIGUSR2, SIGALRM })
		sigaction(sig, &action, nullptr);
	library = argv[1];
	load();
	puts("ready");
	fflush(stdout);
	long rounds;
	while (scanf("%ld", &rounds) == 1) {
		if (rounds == -1)
			execv("/proc/self/exe", argv);
		if (rounds == -2)
			dlclose(handle), handle = nullptr, rounds = 0;
		work(rounds);
		for (int i = 0; i < N; i++)
			printf("%s %ld %ld ", names[i], called[i].load(), returned[i].load());
		puts("");
		fflush(stdout);
	}
	return failed;
}
