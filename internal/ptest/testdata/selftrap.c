/*
 * selftrap: a program that uses SIGTRAP itself. It makes -n rounds of int3, raise(SIGTRAP),
 * sigqueue(SIGTRAP) and a single step by the trap flag. Its handler compares siginfo and the program
 * counter with the expected ones. The page's kinds 0 to 3 have the counts.
 */
#include "ptest.h"
#include <signal.h>
#include <ucontext.h>

enum kind { INT3, RAISE, QUEUE, STEP };

static volatile enum kind expected;
static volatile uint64_t traps[4];

#if defined(__x86_64__)
extern char after_int3[];

static void handler(int sig UNUSED, siginfo_t *si, void *context)
{
	static const int code[] = { SI_KERNEL, SI_TKILL, SI_QUEUE, TRAP_TRACE };
	ucontext_t *uc = context;

	if (si->si_code != code[expected])
		wrong("trap %d: si_code %d, not %d", expected, si->si_code, code[expected]);
	if (expected == INT3 && uc->uc_mcontext.gregs[REG_RIP] != (greg_t)(uintptr_t)after_int3)
		wrong("int3: rip %#llx", uc->uc_mcontext.gregs[REG_RIP]);
	if (expected == QUEUE && si->si_value.sival_int != (int)traps[QUEUE])
		wrong("sigqueue: payload %d", si->si_value.sival_int);
	if (expected == STEP)
		uc->uc_mcontext.gregs[REG_EFL] &= ~0x100; /* the trap flag */
	traps[expected]++;
	atomic_fetch_add(&truth->kind[expected], 1);
	atomic_fetch_add(&truth->signals, 1);
}

NOINLINE static void trap_int3(void) { __asm__ volatile("int3\n.globl after_int3\nafter_int3:" ::: "memory"); }

NOINLINE static void trap_step(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n" /* spares the red zone */
			 "pushfq\n"
			 "orq $0x100, (%%rsp)\n"
			 "popfq\n"
			 "nop\n"
			 "lea 128(%%rsp), %%rsp\n" ::: "memory", "cc");
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	uint64_t n;
	int k;

	start(argc, argv, NULL);
	if (sigaction(SIGTRAP, &sa, NULL) != 0)
		die("sigaction");
	ready();
	for (n = 0; count == 0 ? !over() : n < count; n++) {
		union sigval v = { .sival_int = (int)n };

		expected = INT3;
		trap_int3();
		expected = RAISE;
		raise(SIGTRAP);
		expected = QUEUE;
		sigqueue(getpid(), SIGTRAP, v);
		expected = STEP;
		trap_step();
		for (k = INT3; k <= STEP; k++)
			if (traps[k] != n + 1)
				wrong("round %llu: %llu traps of kind %d", (unsigned long long)n, (unsigned long long)traps[k], k);
		atomic_fetch_add(&truth->work, 1);
	}
	return done(4 * n);
}
#else
int main(void)
{
	return 4;
}
#endif
