/*
 * contend: eight threads want three mutexes, which three functions hold; some run meanwhile, some sleep. share has how
 * long was waited for each, in ns, less the time of the clock for each wait that is not over, of which share[8] and the
 * next have the number. kind has how often each was held, kind[8] and the next how often somebody waited. With -n it ends
 * after so many ms. The checksum is how often a lock was taken.
 */
#include "ptest.h"
#include "burn.h"

static pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER, lock_b = PTHREAD_MUTEX_INITIALIZER, lock_c = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int stop;
static volatile uint64_t sink;

static void rest(int us)
{
	struct timespec ts = {0, us * 1000};
	if (nanosleep(&ts, NULL) != 0)
		atomic_fetch_add(&truth->eintr, 1);
}

__attribute__((always_inline)) static inline void want(pthread_mutex_t *m, int n)
{
	uint64_t t;

	if (pthread_mutex_trylock(m) != 0) {
		t = now();
		atomic_fetch_add(&truth->share[8 + n], 1);
		atomic_fetch_sub(&truth->share[n], t);
		pthread_mutex_lock(m);
		atomic_fetch_add(&truth->share[n], now());
		atomic_fetch_sub(&truth->share[8 + n], 1);
		atomic_fetch_add(&truth->kind[8 + n], 1);
	}
	atomic_fetch_add(&truth->kind[n], 1);
	atomic_fetch_add(&truth->work, 1);
}

/* runs while it has the lock */
NOINLINE static void hold_a(void)
{
	want(&lock_a, 0);
	sink = burn(sink, 500);
	pthread_mutex_unlock(&lock_a);
	rest(50);
}

/* runs and sleeps */
NOINLINE static void hold_b(void)
{
	want(&lock_b, 1);
	sink = burn(sink, 150);
	rest(1000);
	pthread_mutex_unlock(&lock_b);
	rest(1000);
}

/* sleeps */
NOINLINE static void hold_c(void)
{
	want(&lock_c, 2);
	rest(2000);
	pthread_mutex_unlock(&lock_c);
	rest(1500);
}

NOINLINE static void want_c(void)
{
	want(&lock_c, 2);
	pthread_mutex_unlock(&lock_c);
	rest(100);
}

static void *run(void *f)
{
	while (!atomic_load(&stop))
		((void (*)(void))f)();
	return NULL;
}

int main(int argc, char **argv)
{
	static void (*const what[])(void) = {hold_a, hold_a, hold_a, hold_a, hold_b, hold_b, hold_b, want_c, hold_c};
	enum { N = sizeof what / sizeof *what };
	pthread_t t[N];
	int i;

	start(argc, argv, NULL);
	for (i = 0; i < N; i++)
		t[i] = spawn(run, (void *)what[i]);
	ready();
	if (count != 0)
		usleep(count * 1000);
	else
		await_end();
	atomic_store(&stop, 1);
	for (i = 0; i < N; i++)
		pthread_join(t[i], NULL);
	return done(atomic_load(&truth->work));
}
