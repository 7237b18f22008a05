/* aside: calls aside as often as each line says that it reads, by that many threads at a time as its argument says, and answers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long calls;

__attribute__((noipa)) long inner(long x)
{
	return x + 1;
}

/* With -fcf-protection its first instruction is endbr64, which the kernel single-steps for a probe. What it emulates comes later. */
__attribute__((noipa)) long aside(long x)
{
	return inner(x) + inner(x + 1);
}

static void *work(void *arg)
{
	long i, x = 0;

	(void)arg;
	for (i = 0; i < calls; i++)
		x = aside(x);
	return (void *)x;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, i;
	pthread_t threads[64];

	printf("ready\n");
	fflush(stdout);
	while (scanf("%ld", &calls) == 1) {
		for (i = 0; i < n; i++)
			pthread_create(&threads[i], NULL, work, NULL);
		for (i = 0; i < n; i++)
			pthread_join(threads[i], NULL);
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
