// locks: threads named after what they wait for, which main holds in hold(). "chain": the last of three threads holds
// what the one before it waits for; main is not in it. "deadlock": two threads have what the other wants, and one waits
// for itself; "ring N": N threads in a circle. "died": the thread that had the locks has ended. It says ready when all wait.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

std::mutex plain, first, second;
std::recursive_mutex recursive;
std::timed_mutex timed;
std::shared_mutex shared, read_held;
std::mutex of_condition;
std::condition_variable condition;
pthread_mutex_t robust, normal = PTHREAD_MUTEX_INITIALIZER;

template <class F> static void start(const char *name, F f)
{
	std::thread([=] { prctl(PR_SET_NAME, name); f(); }).detach();
}

// asleep waits until a thread sleeps in a system call after what it does: it has been met there ten times.
static void asleep(int threads)
{
	for (int met = 0; met < 10;) {
		char line[64] = "";
		FILE *p = popen("cat /proc/$PPID/task/*/syscall 2>/dev/null | grep -c -v running", "r");
		met = fgets(line, sizeof line, p) && atoi(line) > threads ? met + 1 : 0;
		pclose(p);
	}
}

__attribute__((noinline)) static void hold(void)
{
	puts("ready");
	fflush(stdout);
	pause();
	asm volatile("");
}

__attribute__((noinline)) static void hold_last(void)
{
	second.lock();
	pause();
	second.unlock();
}

__attribute__((noinline)) static void hold_first(void)
{
	first.lock();
	second.lock();
	first.unlock();
}

__attribute__((noinline)) static void want_first(void) { first.lock(); }

static void chain(void)
{
	start("last", hold_last);
	asleep(1);
	start("middle", hold_first);
	asleep(2);
	start("waiter", want_first);
	asleep(3);
}

static void deadlock(void)
{
	static pthread_barrier_t both;
	pthread_barrier_init(&both, nullptr, 2);
	start("one", [] { first.lock(); pthread_barrier_wait(&both); second.lock(); });
	start("two", [] { second.lock(); pthread_barrier_wait(&both); first.lock(); });
	start("itself", [] { plain.lock(); plain.lock(); });
	asleep(3);
}

// wait_only waits at the word of the robust mutex, and does not take it when the kernel wakes one thread at the owner's end.
static void wait_only(void)
{
	unsigned *word = (unsigned *)&robust;
	syscall(SYS_futex, word, FUTEX_WAIT, *word, nullptr);
	pause();
}

static void died(void)
{
	static pthread_barrier_t end;
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &a);
	pthread_barrier_init(&end, nullptr, 2);
	std::thread([] { pthread_mutex_lock(&normal); }).join();
	start("normal", [] { pthread_mutex_lock(&normal); });
	std::thread owner([] { pthread_mutex_lock(&robust); pthread_barrier_wait(&end); });
	asleep(2);
	start("first", wait_only);
	asleep(3);
	start("robust", [] { pthread_mutex_lock(&robust); });
	asleep(4);
	pthread_barrier_wait(&end);
	owner.join();
	asleep(3);
}

static std::mutex ring[16];
static pthread_barrier_t held;

__attribute__((noinline)) static void member(int i, int n)
{
	ring[i].lock();
	pthread_barrier_wait(&held);
	ring[(i + 1) % n].lock();
}

static void rings(int n)
{
	pthread_barrier_init(&held, nullptr, n);
	for (int i = 0; i < n; i++)
		start("member", [=] { member(i, n); });
	asleep(n);
}

int main(int argc, char **argv)
{
	if (argc > 2) {
		rings(atoi(argv[2]));
		hold();
	}
	if (argc > 1) {
		argv[1][0] == 'c' ? chain() : argv[1][1] == 'e' ? deadlock() : died();
		hold();
	}
	plain.lock();
	recursive.lock();
	timed.lock();
	shared.lock();
	read_held.lock_shared();
	start("plain", [] { plain.lock(); });
	start("recursive", [] { recursive.lock(); });
	start("timed", [] { timed.try_lock_for(std::chrono::hours(1)); });
	start("unique", [] { shared.lock(); });
	start("shared", [] { shared.lock_shared(); });
	start("read_held", [] { read_held.lock(); });
	start("condition", [] { std::unique_lock l(of_condition); condition.wait(l); });
	asleep(7);
	hold();
}
