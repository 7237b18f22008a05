// Operators of a class, of none, of namespace std, of a lambda; those that allocate.
#include <cstddef>
#include <cstdlib>

volatile unsigned long sink;

struct Base {
	__attribute__((noinline)) operator bool() const { return sink != 0; }
	__attribute__((noinline)) int operator()(int x) { sink += x; return x; }
	__attribute__((noinline)) int operator[](int x) { sink -= x; return x; }
	__attribute__((noinline)) bool operator<(int x) { sink ^= x; return x; }
};

__attribute__((noinline)) int operator+(Base &, int x) { sink |= x; return x; }

namespace std {
__attribute__((noinline)) int operator-(Base &, int x) { sink &= x; return x; }
}

void *operator new(size_t n) { return malloc(n); }
void operator delete[](void *p) noexcept { free(p); }

int main(int argc, char **)
{
	Base b;
	auto lambda = [](int x) __attribute__((noinline)) { sink *= x; return x; };
	int *p = new int;

	delete[] p;
	return b + 1 + std::operator-(b, 2) + b[3] + (b < 4) + b(5) + lambda(argc) + bool(b);
}
