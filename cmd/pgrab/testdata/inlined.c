/* A function that is inlined everywhere, and one that is inlined in places. */
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

__attribute__((noinline)) int first(int x) { return everywhere(x) + somewhere(x); }
__attribute__((noinline)) int second(int x) { return everywhere(x + 1) + pointer(x); }

int main(int argc, char **argv)
{
	(void)argv;
	return first(argc) + second(argc) == 0;
}
