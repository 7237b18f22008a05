/* Threads that wait for ever, in four ways. They end with the process. */
#ifndef IDLE_H
#define IDLE_H

#include <sys/epoll.h>

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle_never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t idle_all;

static void idle_returned(int n)
{
	if (n < 0 && errno == EINTR)
		atomic_fetch_add(&truth->eintr, 1);
	else
		wrong("an idle thread woke up");
}

static void idle_futex(void)
{
	pthread_mutex_lock(&idle_lock);
	for (;;)
		pthread_cond_wait(&idle_never, &idle_lock);
}

static void idle_poll(void)
{
	int fd[2];
	struct pollfd p = { .events = POLLIN };

	if (pipe(fd) != 0)
		die("pipe");
	p.fd = fd[0];
	for (;;)
		idle_returned(poll(&p, 1, -1));
}

static void idle_sleep(void)
{
	struct timespec ts = { .tv_sec = 100000 };

	for (;;)
		idle_returned(nanosleep(&ts, NULL));
}

static void idle_epoll(void)
{
	struct epoll_event e;
	int fd = epoll_create1(EPOLL_CLOEXEC);

	for (;;)
		idle_returned(epoll_wait(fd, &e, 1, -1));
}

static void *idle_thread(void *arg)
{
	static void (*const way[])(void) = { idle_futex, idle_poll, idle_sleep, idle_epoll };

	pthread_barrier_wait(&idle_all);
	way[(uintptr_t)arg % 4]();
	return NULL;
}

/* Starts n threads and waits until all of them have started. */
static void idle_start(int n)
{
	pthread_attr_t attr;
	pthread_t t;
	int i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	pthread_barrier_init(&idle_all, NULL, (unsigned)n + 1);
	for (i = 0; i < n; i++)
		if ((errno = pthread_create(&t, &attr, idle_thread, (void *)(uintptr_t)i)) != 0)
			die("pthread_create");
	pthread_barrier_wait(&idle_all);
}

#endif
