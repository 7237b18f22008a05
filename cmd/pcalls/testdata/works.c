/*
 * works: two threads on one processor work and sleep in one function. It writes to a file, for each call, the thread, how long that slept,
 * and its processor time in between, in nanoseconds.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void spin(long until)
{
	while (used() < until)
		;
}

__attribute__((noinline)) long works(long milliseconds, long nap)
{
	long from = used();

	spin(from + milliseconds * 500000);
	if (nap > 0)
		usleep(nap * 1000);
	spin(from + milliseconds * 1000000);
	return used() - from;
}

static void *thread(void *arg)
{
	sched_setaffinity(0, sizeof(cpu_set_t), arg);
	for (long i = 0; i < 8; i++) {
		long nap = i % 3 * 4, ran = works(i % 4 * 3, nap);

		printf("%ld %ld %ld\n", syscall(SYS_gettid), nap * 1000000, ran);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	cpu_set_t one;
	pthread_t other;

	if (argc != 2 || !freopen(argv[1], "w", stdout))
		return 1;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	pthread_create(&other, NULL, thread, &one);
	thread(&one);
	pthread_join(other, NULL);
	return 0;
}
