// Arguments pushed on the stack around calls that may throw: DW_CFA_GNU_args_size.
#include <cstdio>

#define NOINLINE __attribute__((noinline))

volatile unsigned long sink;

NOINLINE long many(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
	for (int j = 0; j < 100; j++)
		sink = sink + a + b + c + d + e + f + g + h + i;
	if (sink % 16 == 0)
		throw 1;
	return sink;
}

NOINLINE long middle(long n)
{
	long x = many(1, 2, 3, 4, 5, 6, n, n + 1, n + 2);
	x += many(x, 2, 3, 4, 5, 6, x, many(1, 2, 3, 4, 5, 6, 7, 8, x), 3);
	return x + 1;
}

NOINLINE void outer(long n)
{
	try {
		sink = sink + middle(n);
	} catch (int) {
		sink = sink + 1;
	}
}

int main()
{
	puts("ready");
	fflush(stdout);
	for (long i = 0;; i++)
		outer(i);
}
