/*
 * phases: threads that wait, and at a line of input burn in alpha for a second of processor time together. It prints "done", and
 * they wait again. The next line lets them burn in beta, the third in gamma_, and the fourth ends them. With -f they are children
 * of fork instead. It prints its number when they wait, and at the end the processor time in each phase, in ns.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4 };

static struct shared {
	volatile int phase;
	volatile int ready;
	long spent[THREADS][3];
	volatile long turns[THREADS];
} *s;

__attribute__((noinline, noclone)) static void alpha(int i)
{
	for (int n = 0; n < 1000000; n++)
		s->turns[i]++;
}

__attribute__((noinline, noclone)) static void beta(int i)
{
	for (int n = 0; n < 1000000; n++)
		s->turns[i] += 2;
}

__attribute__((noinline, noclone)) static void gamma_(int i)
{
	for (int n = 0; n < 1000000; n++)
		s->turns[i] += 3;
}

static void *burn(void *arg)
{
	static void (*const in[])(int) = { alpha, beta, gamma_ };
	int i = (int)(long)arg;
	struct timespec t;
	long last = 0, now;

	__sync_fetch_and_add(&s->ready, 1);
	for (int phase; (phase = s->phase) < 4;) {
		if (phase == 0)
			usleep(1000);
		else
			in[phase - 1](i);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = t.tv_sec * 1000000000L + t.tv_nsec;
		if (phase > 0)
			s->spent[i][phase - 1] += now - last;
		last = now;
	}
	return NULL;
}

static long sum(int phase)
{
	long all = 0;

	for (int i = 0; i < THREADS; i++)
		all += s->spent[i][phase - 1];
	return all;
}

int main(int argc, char **argv)
{
	int forks = argc > 1 && strcmp(argv[1], "-f") == 0;
	pthread_t t[THREADS];

	s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (long i = 0; i < THREADS; i++) {
		if (!forks)
			pthread_create(&t[i], NULL, burn, (void *)i);
		else if (fork() == 0) {
			burn((void *)i);
			_exit(0);
		}
	}
	while (s->ready < THREADS)
		usleep(1000);
	printf("%d\n", getpid());
	fflush(stdout);
	for (int phase = 1; phase < 4; phase++) {
		if (getchar() != '\n')
			break;
		s->phase = phase;
		while (sum(phase) < 1000000000L)
			usleep(1000);
		s->phase = 0;
		puts("done");
		fflush(stdout);
	}
	getchar();
	s->phase = 4;
	for (int i = 0; i < THREADS; i++) {
		if (forks)
			wait(NULL);
		else
			pthread_join(t[i], NULL);
	}
	for (int phase = 1; phase < 4; phase++)
		printf("%ld\n", sum(phase));
	return 0;
}
