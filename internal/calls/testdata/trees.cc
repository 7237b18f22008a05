/*
 * trees: functions that call each other in all the ways that C++ has. For each line that it reads, a number of rounds, it does that
 * and prints how often each function has returned by each path of functions, "serve>outer>inner 12", and "end".
 */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <pthread.h>
#include <string>
#include <ucontext.h>
#include <vector>

#define KEEP extern "C" __attribute__((noinline, noclone, noipa))

typedef std::vector<const char *> path;

static std::map<std::string, long> counts;
static std::mutex counting;
static thread_local path thread_path, *now;
static volatile long sink;

static void pop()
{
	std::string key;
	for (const char *name : *now)
		key += (key.empty() ? "" : ">") + std::string(name);
	std::lock_guard<std::mutex> lock(counting);
	counts[key]++;
	now->pop_back();
}

/* A level of the path. It counts if the function returns. */
struct level {
	size_t depth;
	bool returns = false;
	level(const char *name) : depth(now->size()) { now->push_back(name); }
	~level() { if (returns) pop(); else now->resize(depth); }
	long of(long x) { returns = true; return x; }
};

KEEP long inner(long x) { level l("inner"); return l.of(sink += x); }

KEEP long thrower(long x)
{
	level l("thrower");
	inner(x);
	if (x & 1)
		throw x;
	return l.of(x);
}

/* is not counted, and is called where thrower was */
KEEP long unseen(long x) { volatile char room[600]; room[x % 600] = 1; return inner(x) + room[0]; }

KEEP long catcher(long x)
{
	level l("catcher");
	for (long (*f)(long) : { thrower, unseen, thrower, inner })
		try {
			sink += f(x);
		} catch (long y) {
			sink += inner(y);
		}
	return l.of(x);
}

static thread_local jmp_buf escape;

KEEP long jumper(long x)
{
	level l("jumper");
	inner(x);
	if (x % 3 == 0) {
		now->resize(l.depth);
		longjmp(escape, 1);
	}
	return l.of(x);
}

KEEP long lander(long x)
{
	level l("lander");
	if (!setjmp(escape))
		jumper(x);
	return l.of(unseen(x));
}

KEEP long deep(long n) { level l("deep"); return l.of(n ? deep(n - 1) + inner(n) : 1); }

KEEP long odd(long n);
KEEP long even(long n) { level l("even"); return l.of(n ? odd(n - 1) + 1 : 0); }
KEEP long odd(long n) { level l("odd"); return l.of(n ? even(n - 1) + 1 : 0); }

/* ends by a jump to inner */
KEEP long tail(long x)
{
	now->push_back("tail");
	pop();
	return inner(x);
}

static ucontext_t server, coroutines[3];
static path paths[3];
static char stacks[3][1 << 16];

static void change(ucontext_t *from, ucontext_t *to, path *its)
{
	now = its;
	swapcontext(from, to);
}

KEEP long yielder(long n)
{
	level l("yielder");
	for (int i = 0; i < 3; i++) {
		change(&coroutines[n], &server, &thread_path);
		inner(i);
	}
	return l.of(n);
}

static void coroutine(int n)
{
	for (;;) {
		yielder(n);
		change(&coroutines[n], &server, &thread_path);
	}
}

KEEP void resume(long n)
{
	level l("resume");
	inner(n);
	change(&server, &coroutines[n], &paths[n]);
	inner(n);
	l.of(0);
}

KEEP void handled(int) { level l("handled"); inner(1); l.of(0); }
KEEP long interrupted(long x) { level l("interrupted"); raise(SIGUSR1); return l.of(x); }

/* has more on the stack than is copied, and is not counted by the path: called with negative rounds */
KEEP long big(long n) { volatile char room[3000]; room[n] = 1; return n ? big(n - 1) + room[n] : inner(n); }

static void work(long rounds, bool coroutines_too)
{
	if (rounds < 0)
		for (; rounds < 0; rounds++)
			big(8);
	static thread_local long i; /* of all rounds */
	for (rounds += i; i < rounds; i++) {
		catcher(i);
		lander(i);
		deep(i % 7);
		even(i % 5);
		tail(i);
		if (coroutines_too) {
			interrupted(i);
			resume(i % 3);
		}
	}
}

static void *thread(void *rounds)
{
	now = &thread_path;
	work((long)rounds, false);
	return nullptr;
}

KEEP void serve()
{
	level l("serve");
	long rounds;
	puts("ready");
	fflush(stdout);
	while (scanf("%ld", &rounds) == 1) {
		pthread_t threads[2];
		for (auto &t : threads)
			if (pthread_create(&t, nullptr, thread, (void *)rounds))
				exit(2);
		work(rounds, true);
		for (auto &t : threads)
			pthread_join(t, nullptr);
		for (auto &c : counts)
			printf("%s %ld\n", c.first.c_str(), c.second);
		counts.clear();
		puts("end");
		fflush(stdout);
	}
}

int main()
{
	now = &thread_path;
	struct sigaction sa = {};
	sa.sa_handler = handled;
	sigaction(SIGUSR1, &sa, nullptr);
	for (int i = 0; i < 3; i++) {
		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = stacks[i];
		coroutines[i].uc_stack.ss_size = sizeof stacks[i];
		makecontext(&coroutines[i], (void (*)())coroutine, 1, i);
	}
	serve();
}
