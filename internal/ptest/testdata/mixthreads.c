/*
 * mixthreads: two threads, named left and right, burn CPU in the same three functions in different
 * shares: left 70, 20 and 10 % in alpha, beta and gamma_, right 10, 20 and 70 %. The shares are not
 * measured: when a thread asks for its CPU time, the kernel may find there that its slice is over. So it
 * would wait for the processor at that place more often than elsewhere. -n counts rounds of each thread,
 * of about 200 us.
 */
#include "ptest.h"
#include "burn.h"

static _Atomic int stop;

NOINLINE static uint64_t alpha(uint64_t x, int units) { return burn(x, units); }
NOINLINE static uint64_t beta(uint64_t x, int units) { return burn(x, units) + 1; }
NOINLINE static uint64_t gamma_(uint64_t x, int units) { return burn(x, units) + 2; }

struct side {
	const char *name;
	int units[3];
	uint64_t x;
};

static void *run(void *arg)
{
	struct side *s = arg;
	uint64_t (*const f[3])(uint64_t, int) = { alpha, beta, gamma_ };
	uint64_t n;
	int i;

	pthread_setname_np(pthread_self(), s->name);
	for (n = 0; !atomic_load(&stop) && (count == 0 || n < count); n++) {
		for (i = 0; i < 3; i++)
			s->x = f[i](s->x, s->units[i]);
		atomic_fetch_add(&truth->work, 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct side left = { "left", { 70, 20, 10 }, 1 };
	struct side right = { "right", { 10, 20, 70 }, 2 };
	pthread_t a, b;

	start(argc, argv, NULL);
	a = spawn(run, &left);
	b = spawn(run, &right);
	ready();
	if (count == 0) {
		await_end();
		atomic_store(&stop, 1);
	}
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return done(left.x + right.x);
}
