/* spinexec: spins for 200 ms of processor time and executes itself again, for ever. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long turns;

__attribute__((noinline)) static void spin(void)
{
	for (int i = 0; i < 100000; i++)
		turns++;
}

int main(int argc, char **argv)
{
	if (argc == 1) { /* the first of them */
		puts("ready");
		fflush(stdout);
	}
	for (clock_t end = clock() + 200000; clock() < end;)
		spin();
	execl("/proc/self/exe", argv[0], "again", (char *)0);
	return 1;
}
