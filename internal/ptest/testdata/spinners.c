/*
 * spinners: N threads on one processor compute for SECONDS. Then they sleep, and the program prints how many nanoseconds
 * they have waited for the processor, as the kernel accounts them: spinners N SECONDS.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double end;
static pthread_barrier_t done;
static pid_t tids[256];

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *spin(void *arg)
{
	*(pid_t *)arg = syscall(SYS_gettid);
	while (now() < end)
		for (volatile int i = 0; i < 10000; i++)
			;
	pthread_barrier_wait(&done);
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	cpu_set_t one;
	pthread_t t;
	unsigned long long run, wait, sum = 0, before = 1;

	sched_getaffinity(0, sizeof one, &one);
	for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &one) && seen++)
			CPU_CLR(cpu, &one);
	sched_setaffinity(0, sizeof one, &one);
	end = now() + atof(argv[2]);
	pthread_barrier_init(&done, 0, n + 1);
	for (int i = 0; i < n; i++)
		pthread_create(&t, 0, spin, &tids[i]);
	pthread_barrier_wait(&done);
	while (sum != before) { /* until all sleep */
		before = sum;
		sum = 0;
		usleep(200000);
		for (int i = 0; i < n; i++) {
			char path[64];
			snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", tids[i]);
			FILE *f = fopen(path, "r");
			if (!f || fscanf(f, "%llu %llu", &run, &wait) != 2)
				return 1;
			fclose(f);
			sum += wait;
		}
	}
	sleep(1);
	printf("%llu\n", sum);
	return 0;
}
