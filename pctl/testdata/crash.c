/* crash: when standard input ends, a second thread reads address 0x123. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static int crash(volatile int *p) { return *p + 1; }

static void *worker(void *arg)
{
	char c;

	while (read(0, &c, 1) > 0)
		;
	printf("%d\n", crash(arg) + 1);
	return arg;
}

int main(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, worker, (void *)0x123) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	pthread_join(t, NULL);
	return 0;
}
