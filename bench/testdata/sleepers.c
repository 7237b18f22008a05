/*
 * sleepers: -t threads that run for a while and sleep, until standard input ends. The kinds, by -k:
 *	spin	spin(50000), which takes 15 to 130 us, then a sleep of 50 us
 *	spin50	the same with as many turns as take 50 us
 *	short	fifty, thirty and twenty run 130, 78 and 52 us, a sleep of 20 us to 2 ms after each
 *	long	the same with runs of 2.5, 1.5 and 1 ms
 * The page's shares 0, 1 and 2 are the CPU nanoseconds of the functions (spin is the first). Asking the
 * kernel for them costs as much as a short sleep does, so one round in -e is measured and counts for all.
 */
#include "ptest.h"
#include "burn.h"

enum { SHORTEST = 20000, OCTAVES = 7, LONGEST = 2000000 }; /* sleeps, ns */

static _Atomic int stop;
static uint64_t every = 16, clock_cost;
static long unit;          /* iterations of a function's loop that take 1 % of a round */
static long turns = 50000; /* of spin */
static const char *kind = "spin";

struct worker {
	uint64_t x, random;
};

NOINLINE static void spin(long n)
{
	volatile long i;

	for (i = 0; i < n; i++)
		;
}

__attribute__((always_inline)) static inline uint64_t loop(uint64_t x, long n)
{
	long i;

	for (i = 0; i < n; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x)); /* keeps the loop a loop */
	}
	return x;
}

NOINLINE static uint64_t fifty(uint64_t x) { return loop(x, 50 * unit); }
NOINLINE static uint64_t thirty(uint64_t x) { return loop(x, 30 * unit); }
NOINLINE static uint64_t twenty(uint64_t x) { return loop(x, 20 * unit); }

static uint64_t random_bits(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

/* Every order of magnitude of a sleep is as likely as the next. */
static void sleep_some(struct worker *w)
{
	uint64_t r = random_bits(w), ns = (uint64_t)SHORTEST << (r % OCTAVES);

	ns += ns * ((r >> 8) % 1024) / 1024;
	if (ns > LONGEST)
		ns = LONGEST;
	usleep((useconds_t)(ns / 1000));
}

static void account(int part, uint64_t t0, uint64_t t1)
{
	uint64_t took = t1 - t0;

	atomic_fetch_add(&truth->share[part], every * (took > clock_cost ? took - clock_cost : 0));
}

static void spin_round(struct worker *w, int measured)
{
	uint64_t t0 = measured ? cpu_now() : 0;

	(void)w;
	spin(turns);
	if (measured)
		account(0, t0, cpu_now());
	usleep(50);
}

static void mix_round(struct worker *w, int measured)
{
	uint64_t (*const part[3])(uint64_t) = { fifty, thirty, twenty };
	int i;

	for (i = 0; i < 3; i++) {
		uint64_t t0 = measured ? cpu_now() : 0;

		w->x = part[i](w->x);
		if (measured)
			account(i, t0, cpu_now());
		sleep_some(w);
	}
}

static void *work(void *arg)
{
	void (*round)(struct worker *, int) = strncmp(kind, "spin", 4) == 0 ? spin_round : mix_round;
	struct worker w = { 1, 88172645463325252u + (uintptr_t)arg * 7919 };
	uint64_t n;

	for (n = 0; !atomic_load(&stop) && (count == 0 || n < count); n++) {
		round(&w, n % every == 0);
		atomic_fetch_add(&truth->work, 1);
	}
	return (void *)(uintptr_t)w.x;
}

/* The least time that n iterations of the parts' loop, or of spin's, take in several attempts, ns. */
static uint64_t cost(int of_spin, long n)
{
	uint64_t best = UINT64_MAX, t0, took;
	int i;

	for (i = 0; i < 20; i++) {
		t0 = cpu_now();
		if (of_spin)
			spin(n);
		else
			loop(1, n);
		if ((took = cpu_now() - t0) < best)
			best = took;
	}
	return best;
}

static void calibrate(void)
{
	const long n = 1000000;

	clock_cost = cost(0, 0);
	unit = (long)((double)n / (double)cost(0, n) * (strcmp(kind, "long") == 0 ? 50000 : 2600));
	if (strcmp(kind, "spin50") == 0)
		turns = (long)((double)n / (double)cost(1, n) * 50000);
}

static void *watch(void *arg)
{
	await_end();
	atomic_store(&stop, 1);
	return arg;
}

static void extra(int letter, const char *value)
{
	if (letter == 'k')
		kind = value;
	if (letter == 'e')
		every = strtoull(value, NULL, 0);
}

int main(int argc, char **argv)
{
	pthread_t t[256];
	int i;

	start(argc, argv, extra);
	if (threads > 256)
		threads = 256;
	if (every == 0)
		every = 1;
	calibrate();
	if (count == 0)
		spawn(watch, NULL);
	for (i = 1; i < threads; i++)
		t[i] = spawn(work, (void *)(uintptr_t)i);
	ready();
	work(NULL);
	for (i = 1; i < threads; i++)
		pthread_join(t[i], NULL);
	return done(atomic_load(&truth->work));
}
