/*
 * instep: works in step with a clock. At the beginning of each period of -u microseconds a thread works in phase_a for -a per
 * mille of the period, then in phase_b for -b per mille, and waits for the next period: by a timerfd, or with -w 1 clock_nanosleep
 * until a moment, 2 nanosleep for the rest, 3 the signal of an interval timer (one thread), 4 by working in phase_c. The page's
 * shares 0 to 2 are the CPU nanoseconds of the phases as the kernel accounts them. With -t 2 the second thread is half a
 * period behind. With -d each period is so many nanoseconds longer than -u says, so that it drifts.
 */
#include "ptest.h"
#include "burn.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/timerfd.h>

static uint64_t period = 10000, part_a = 75, part_b = 75, drift;
static int way;
static _Atomic int stop;

NOINLINE static uint64_t phase_a(uint64_t x, uint64_t until)
{
	while (now() < until)
		x = burn(x, 1);
	return x;
}

NOINLINE static uint64_t phase_b(uint64_t x, uint64_t until)
{
	while (now() < until)
		x = burn(x, 1);
	return x + 1;
}

NOINLINE static uint64_t phase_c(uint64_t x, uint64_t until)
{
	while (now() < until)
		x = burn(x, 1);
	return x + 2;
}

static void on_alarm(int sig) { (void)sig; }

/* Returns at the beginning of the period at begin, or at the next moment of the clock. */
static uint64_t await_period(int fd, uint64_t begin, uint64_t x)
{
	struct timespec at = {begin / 1000000000u, begin % 1000000000u};
	uint64_t n, rest;
	sigset_t none;

	switch (way) {
	case 0:
		if (read(fd, &n, sizeof n) < 0)
			die("read");
		break;
	case 1:
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
			;
		break;
	case 2:
		rest = now();
		rest = begin > rest ? begin - rest : 0;
		at.tv_sec = rest / 1000000000u;
		at.tv_nsec = rest % 1000000000u;
		nanosleep(&at, NULL);
		break;
	case 3:
		sigemptyset(&none);
		sigsuspend(&none);
		break;
	default:
		x = phase_c(x, begin);
	}
	return x;
}

static void *work(void *arg)
{
	uint64_t behind = (uintptr_t)arg, length = period * 1000 + drift, begin = now() + behind, x = behind, t[4];
	struct itimerspec every = {{length / 1000000000u, length % 1000000000u}, {0, 0}};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	every.it_value.tv_sec = (begin + length) / 1000000000u;
	every.it_value.tv_nsec = (begin + length) % 1000000000u;
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &every, NULL);
	while (!atomic_load(&stop)) {
		begin += length;
		t[0] = cpu_now();
		x = await_period(fd, begin, x);
		if (way == 0 || way == 3 || now() > begin + length)
			begin = now(); /* the clock decides, or it is late */
		t[1] = cpu_now();
		x = phase_a(x, begin + length * part_a / 1000);
		t[2] = cpu_now();
		x = phase_b(x, begin + length * (part_a + part_b) / 1000);
		t[3] = cpu_now();
		atomic_fetch_add(&truth->share[0], t[2] - t[1]);
		atomic_fetch_add(&truth->share[1], t[3] - t[2]);
		atomic_fetch_add(&truth->share[2], t[1] - t[0]);
		atomic_fetch_add(&truth->work, 1);
	}
	return (void *)(uintptr_t)x;
}

static void *watch(void *arg)
{
	await_end();
	atomic_store(&stop, 1);
	return arg;
}

static void extra(int letter, const char *value)
{
	switch (letter) {
	case 'u':
		period = strtoull(value, NULL, 0);
		break;
	case 'a':
		part_a = strtoull(value, NULL, 0);
		break;
	case 'b':
		part_b = strtoull(value, NULL, 0);
		break;
	case 'd':
		drift = strtoull(value, NULL, 0);
		break;
	case 'w':
		way = atoi(value);
	}
}

int main(int argc, char **argv)
{
	pthread_t second = 0;
	void *x, *y = NULL;

	start(argc, argv, extra);
	if (way == 3) {
		struct itimerval every = {{period / 1000000, period % 1000000}, {0, period}};
		sigset_t alarm;

		sigemptyset(&alarm);
		sigaddset(&alarm, SIGALRM);
		pthread_sigmask(SIG_BLOCK, &alarm, NULL);
		signal(SIGALRM, on_alarm);
		setitimer(ITIMER_REAL, &every, NULL);
	}
	spawn(watch, NULL);
	if (threads > 1)
		second = spawn(work, (void *)(uintptr_t)(period * 500));
	ready();
	x = work(NULL);
	if (threads > 1)
		pthread_join(second, &y);
	return done((uintptr_t)x + (uintptr_t)y);
}
