/*
 * contend: eight threads want three mutexes, each of which is held in one function. The waits for them are some 60, 30 and
 * 10 % of all waiting. The holders of lock_a run, those of lock_b run and sleep, those of lock_c sleep.
 *
 * It counts: share[n] is how long threads have waited for lock n, share[8 + n] how long the lock was held, as sums of times
 * (spend_begin). kind[n] is how often the lock was taken, kind[8 + n] how often a thread had to wait. share[16 + n] is how
 * long threads have waited for lock n while a thread held it, share[24 + n] while no thread did; both in whole ns.
 *
 * With -c N there are N more threads, which all wait for a fourth mutex that the first thread holds. With -n it ends
 * after so many ms. The checksum is how often a lock was taken.
 */
#include "ptest.h"
#include "burn.h"

enum { WAITED = 0, HELD = 8, WHILE_HELD = 16, WHILE_FREE = 24 };

static pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER, lock_b = PTHREAD_MUTEX_INITIALIZER, lock_c = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock_crowd = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int stop;
static volatile uint64_t sink;
static int crowd;

static void rest(int us)
{
	struct timespec ts = {0, us * 1000};
	if (nanosleep(&ts, NULL) != 0)
		atomic_fetch_add(&truth->eintr, 1);
}

/*
 * How many threads wait for a lock, whether it is held, and since when. This is one word for each lock, so that a thread
 * that changes it knows how long the old state lasted.
 */
enum { IS_HELD = 1, WAITER = 2, SINCE = 256 };
static _Atomic uint64_t state[3];

static void change(int n, int by)
{
	uint64_t old = atomic_load(&state[n]), at;

	do
		at = now();
	while (!atomic_compare_exchange_weak(&state[n], &old, at * SINCE + old % SINCE + by));
	atomic_fetch_add(&truth->share[(old & IS_HELD ? WHILE_HELD : WHILE_FREE) + n], (at - old / SINCE) * (old % SINCE / WAITER));
}

__attribute__((always_inline)) static inline void want(pthread_mutex_t *m, int n)
{
	if (pthread_mutex_trylock(m) != 0) {
		change(n, WAITER);
		spend_begin(&truth->share[WAITED + n]);
		pthread_mutex_lock(m);
		spend_end(&truth->share[WAITED + n]);
		atomic_fetch_add(&truth->kind[8 + n], 1);
		change(n, IS_HELD - WAITER);
	} else {
		change(n, IS_HELD);
	}
	spend_begin(&truth->share[HELD + n]);
	atomic_fetch_add(&truth->kind[n], 1);
	atomic_fetch_add(&truth->work, 1);
}

__attribute__((always_inline)) static inline void leave(pthread_mutex_t *m, int n)
{
	spend_end(&truth->share[HELD + n]);
	change(n, -IS_HELD);
	pthread_mutex_unlock(m);
}

NOINLINE static void hold_a(void)
{
	want(&lock_a, 0);
	sink = burn(sink, 800);
	leave(&lock_a, 0);
	rest(200);
}

NOINLINE static void hold_b(void)
{
	want(&lock_b, 1);
	sink = burn(sink, 150);
	rest(1000);
	leave(&lock_b, 1);
	rest(1600);
}

NOINLINE static void hold_c(void)
{
	want(&lock_c, 2);
	rest(2000);
	leave(&lock_c, 2);
	rest(1400);
}

static void *run(void *f)
{
	while (!atomic_load(&stop))
		((void (*)(void))f)();
	return NULL;
}

static void *wait_in_crowd(void *p)
{
	pthread_mutex_lock(&lock_crowd);
	pthread_mutex_unlock(&lock_crowd);
	return p;
}

static void extra(int letter, const char *value)
{
	if (letter == 'c')
		crowd = atoi(value);
}

int main(int argc, char **argv)
{
	static void (*const what[])(void) = {hold_a, hold_a, hold_a, hold_b, hold_b, hold_b, hold_c, hold_c};
	enum { N = sizeof what / sizeof *what };
	pthread_t t[N], *more;
	int i;

	start(argc, argv, extra);
	spend_from_now();
	more = calloc(crowd + 1, sizeof *more);
	pthread_mutex_lock(&lock_crowd);
	for (i = 0; i < crowd; i++)
		more[i] = spawn(wait_in_crowd, NULL);
	for (i = 0; i < N; i++)
		t[i] = spawn(run, (void *)what[i]);
	ready();
	if (count != 0)
		usleep(count * 1000);
	else
		await_end();
	atomic_store(&stop, 1);
	pthread_mutex_unlock(&lock_crowd);
	for (i = 0; i < N; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < crowd; i++)
		pthread_join(more[i], NULL);
	return done(atomic_load(&truth->work));
}
