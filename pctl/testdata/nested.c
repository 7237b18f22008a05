/* nested: when standard input ends, two threads call nested(10) a hundred times each. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static unsigned long nested(unsigned long n)
{
	unsigned long below = n == 0 ? 0 : nested(n - 1);

	__asm__ volatile("" ::: "memory"); /* no tail call, and no loop in its place */
	return below + n;
}

static void *worker(void *arg)
{
	volatile unsigned long sum = 0;
	int i;

	for (i = 0; i < 100; i++)
		sum += nested(10);
	return sum == 5500 ? NULL : arg;
}

int main(void)
{
	pthread_t t[2];
	void *bad[2];
	char c;
	int i;

	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	for (i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, worker, &c) != 0)
			return 2;
	for (i = 0; i < 2; i++)
		pthread_join(t[i], &bad[i]);
	return bad[0] != NULL || bad[1] != NULL;
}
