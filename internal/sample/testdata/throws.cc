// throws: spends its time in inlined and in recursive code, and in throwing exceptions through it.
// Until standard input ends.
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <vector>

static volatile unsigned long sink;

template <int N> static inline unsigned long churn(unsigned long x)
{
	for (int i = 0; i < 1000 * N; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		asm volatile("" : "+r"(x));
	}
	return x;
}

struct guard {
	~guard() { sink = churn<1>(sink); }
};

__attribute__((noinline)) static unsigned long fall(int depth, unsigned long x)
{
	guard g;
	if (depth == 0)
		throw std::runtime_error("bottom");
	return fall(depth - 1, churn<2>(x)) + 1;
}

__attribute__((noinline)) static void turn(unsigned long x)
{
	std::vector<int> v(100, int(x));
	try {
		sink = fall(int(v.size() / 10), x);
	} catch (const std::exception &e) {
		sink = sink + e.what()[0];
	}
}

int main()
{
	std::thread([] {
		char c;
		while (read(0, &c, 1) > 0)
			;
		_exit(0);
	}).detach();
	puts("ready");
	fflush(stdout);
	for (unsigned long x = 1;; x++)
		turn(x);
}
