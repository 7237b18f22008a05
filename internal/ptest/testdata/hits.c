/*
 * hits: -t threads call hot() -n times each, with a pause of -p microseconds after each call. With
 * -s 1 they begin one after the other, spread over a pause. Otherwise they all begin at the same time.
 * With -f 1 a forked child makes every call as well, and ends with the result. Each thread knows the
 * expected sum of all results. The checksum is how many sums were right.
 */
#include "ptest.h"
#include <sys/wait.h>

static unsigned pause_us;
static int forks;
static int spread;
static _Atomic int stop;

NOINLINE uint64_t hot(uint64_t x)
{
	__asm__ volatile("nop");
	return 3 * x + 1;
}

static void in_child(uint64_t n)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit((int)(hot(n) & 0x7f));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("child");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != (int)((3 * n + 1) & 0x7f))
		wrong("child %llu: status %x", (unsigned long long)n, status);
}

static void *call(void *arg)
{
	uint64_t n, sum = 0;

	for (n = 0; count == 0 ? !atomic_load(&stop) : n < count; n++) {
		sum += hot(n);
		if (forks)
			in_child(n);
		if (pause_us > 0)
			usleep(pause_us);
	}
	*(uint64_t *)arg = n == 0 || sum == 3 * (n * (n - 1) / 2) + n;
	return NULL;
}

static void extra(int letter, const char *value)
{
	if (letter == 'p')
		pause_us = (unsigned)atoi(value);
	else if (letter == 'f')
		forks = 1;
	else if (letter == 's')
		spread = 1;
}

int main(int argc, char **argv)
{
	pthread_t t[64];
	uint64_t right[64], sum = 0;
	int i;

	start(argc, argv, extra);
	if (threads > 64)
		threads = 64;
	ready();
	for (i = 0; i < threads; i++) {
		if (spread && i > 0)
			usleep(pause_us / (unsigned)threads);
		t[i] = spawn(call, &right[i]);
	}
	if (count == 0) {
		await_end();
		atomic_store(&stop, 1);
	}
	for (i = 0; i < threads; i++) {
		pthread_join(t[i], NULL);
		sum += right[i];
	}
	if (sum != (uint64_t)threads)
		wrong("%d of %d sums", (int)sum, threads);
	return done(sum);
}
