// Exceptions through the chain main > outer > middle > inner.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

volatile unsigned long sink;

struct Guard {
	std::string s = "a string that is too long for the small buffer";
	~Guard() { sink += s.size(); }
};

NOINLINE void inner(int i)
{
	Guard g;
	std::vector<int> v(i % 50);
	if (i % 3 == 0)
		throw std::runtime_error(g.s);
	sink += v.size();
}

NOINLINE void middle(int i)
{
	Guard g;
	inner(i);
	sink++;
}

NOINLINE void outer(int i)
{
	try {
		middle(i);
	} catch (const std::exception &e) {
		sink += e.what()[0];
	}
	sink++;
}

int main()
{
	puts("ready");
	fflush(stdout);
	for (int i = 0;; i++)
		outer(i);
}
