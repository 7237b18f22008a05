/* Burning CPU in known portions. */
#ifndef BURN_H
#define BURN_H

/* Spends the CPU of about 2 us per unit; always in its caller, which is the leaf of the stack. */
__attribute__((always_inline)) static inline uint64_t burn(uint64_t x, int units)
{
	int i;

	for (i = 0; i < units * 2000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x)); /* keeps the loop a loop */
	}
	return x;
}

/* CPU time of this thread, ns. */
static UNUSED uint64_t cpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif
