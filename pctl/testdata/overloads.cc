// overloads: when standard input ends, functions of the same name are called, as often as their names or types say.
#include <cstdio>
#include <unistd.h>

namespace shop {
volatile long sum;

struct Box {
	__attribute__((noipa)) void put(int n) { sum += n; }
	__attribute__((noipa)) void put(const char *s) { sum += *s; }
	__attribute__((noipa)) void take() { sum--; }
};

template <typename T> struct Pile {
	__attribute__((noipa)) void push(T t) { sum += sizeof t; }
};
} // namespace shop

int main()
{
	shop::Box box;
	shop::Pile<int> ints;
	shop::Pile<char *> texts;
	char c;

	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	box.put(1);
	for (int i = 0; i < 2; i++)
		box.put("two");
	for (int i = 0; i < 3; i++)
		box.take();
	for (int i = 0; i < 4; i++)
		ints.push(i);
	for (int i = 0; i < 5; i++)
		texts.push(&c);
	return 0;
}
