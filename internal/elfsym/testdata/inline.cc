// Functions inlined into functions inlined into functions, templates,
// namespaces, a PLT, an alias and a local function.
#include <cstdio>
#include <cstdlib>
#include <string>

namespace ns {
struct Counter {
	long n = 0;
	inline void add(long v) { n += v * 3 + (n >> 2); }
	long operator()(long v) { add(v); return n; }
	~Counter();
};
__attribute__((noinline)) Counter::~Counter() { std::printf("%ld\n", n); }

static inline long inner(long v) {
	long r = v;
	for (int i = 0; i < 7; i++)
		r = r * 31 + i;
	return r;
}

static inline long middle(long v) { return inner(v) ^ inner(v + 1); }

__attribute__((noinline)) long outer(long v) { return middle(v) + 1; }

template <typename T>
__attribute__((noinline)) T twice(T v) {
	return v + v;
}

template <typename T, typename Less>
static inline void exchange(T &a, T &b, Less less) {
	if (less(b, a)) {
		T t = a;
		a = b;
		b = t;
	}
}

template <typename T, typename Less>
static inline void pass(T *v, int n, Less less) {
	for (int i = 1; i < n; i++)
		exchange(v[i - 1], v[i], less);
}

template <typename T, typename Less>
static inline void sort(T *v, int n, Less less) {
	for (int i = 0; i < n; i++)
		pass(v, n - i, less);
}
}  // namespace ns

extern "C" {
__attribute__((noinline)) long plain(long v) { return ns::outer(v) + ns::twice(v); }
long alias_of_plain(long v) __attribute__((alias("plain")));
long __plain(long v) __attribute__((alias("plain")));
}

int main(int argc, char **argv) {
	ns::Counter c;
	static long v[128];
	long sum = 0;
	for (int i = 0; i < 128; i++) {
		v[i] = plain(i + argc) + std::rand();
		sum += c(v[i]);
	}
	ns::sort(v, 128, [](long a, long b) { return a % 17 < b % 17; });
	std::string s = ns::twice(std::string(argv[0]));
	std::printf("%s %ld %ld\n", s.c_str(), v[0], sum);
	return 0;
}
