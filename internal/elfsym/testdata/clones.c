/* A clone of a function for a constant argument, a function that is inlined everywhere, and one that is inlined in places. */
struct declared;

static inline __attribute__((always_inline)) int everywhere(int x)
{
	volatile int y = x * 3;

	return y;
}

static inline int somewhere(int x)
{
	volatile int y = x * 5;

	return ++y;
}

int (*volatile pointer)(int) = somewhere;

static __attribute__((noinline)) int cloned(int a, int b, int n)
{
	volatile int s = 0;

	for (int i = 0; i < n; i++)
		s += a * b;
	return s;
}

__attribute__((noinline)) int first(int x, struct declared *d)
{
	return everywhere(x) + somewhere(x) + cloned(x, 2, 7) + (d != 0);
}

__attribute__((noinline)) int second(int x) { return everywhere(x + 1) + cloned(x, 3, 7); }

int main(int argc, char **argv)
{
	(void)argv;
	return first(argc, 0) + second(argc) + pointer(argc);
}
