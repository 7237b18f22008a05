// lines: when standard input ends, two instances of a template are called, 2 and 5 times.
#include <cstdio>
#include <unistd.h>

template <typename T> __attribute__((noinline)) T half(T x)
{
	volatile T y = x;
	return y / 2; /* half */
}

int main()
{
	puts("ready");
	fflush(stdout);
	for (char c; read(0, &c, 1) == 1;)
		;
	double sum = 0;
	for (int i = 0; i < 5; i++) {
		if (i < 2)
			sum += half(i);
		sum += half(i + .5);
	}
	return sum > 0 ? 0 : 1;
}
