/*
 * altstack: burns CPU by turns in outside and, called by a signal handler that runs on an alternate
 * stack, in inside. The page's shares 0 and 1 are the CPU nanoseconds of the two; -n counts rounds.
 */
#include "ptest.h"
#include "burn.h"
#include <signal.h>

static volatile uint64_t x;

NOINLINE static void inside(void) { x = burn(x, 50); }
NOINLINE static void outside(void) { x = burn(x, 50); }

NOINLINE static void handler(int sig UNUSED)
{
	uint64_t t = cpu_now();

	inside();
	atomic_fetch_add(&truth->share[1], cpu_now() - t);
	atomic_fetch_add(&truth->signals, 1);
}

NOINLINE static void interrupted(void)
{
	uint64_t t = cpu_now();

	outside();
	atomic_fetch_add(&truth->share[0], cpu_now() - t);
	raise(SIGUSR1);
}

int main(int argc, char **argv)
{
	static char stack[128 << 10];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	uint64_t n;

	start(argc, argv, NULL);
	if (sigaltstack(&alt, NULL) != 0 || sigaction(SIGUSR1, &sa, NULL) != 0)
		die("sigaction");
	ready();
	for (n = 0; count == 0 ? !over() : n < count; n++) {
		interrupted();
		atomic_fetch_add(&truth->work, 1);
	}
	if (atomic_load(&truth->signals) != n)
		wrong("%llu signals in %llu rounds", (unsigned long long)truth->signals, (unsigned long long)n);
	return done(x);
}
