// The program of which the copies of unit.cc are the bulk.
#include <cstdio>

static volatile unsigned long sink;

__attribute__((noinline)) void spin(void)
{
	for (int i = 0; i < 1000; i++)
		sink += i;
}

int main()
{
	puts("ready");
	fflush(stdout);
	for (;;) {
		spin();
		sink++;
	}
}
