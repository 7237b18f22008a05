/* lines: functions that are asked for by their lines. */
#include <stdio.h>

#define KEEP __attribute__((noinline, noclone, noipa))

static volatile long sink;

static inline __attribute__((always_inline)) long folded(long x)
{
	return sink += x; /* line 10 */
}

KEEP long first(long x)
{
	return folded(x) + 1; /* line 15 */
}

__attribute__((always_inline)) inline long third(long x) { return sink += 2 * x; }
extern inline long third(long x);
KEEP long second(long x) { return sink = third(x); } /* line 20 */

long (*volatile whole)(long) = third;

int main(void)
{
	for (int i = 0; i < 3; i++)
		first(i);
	second(1);
	whole(1);
	return 0;
}
