/*
 * timed: has a thread for each kind of call that has a relative timeout and that nothing restarts. The
 * thread waits in the call for -t milliseconds, -n times, for an event that never comes. The page's shares
 * have how much longer a call took. It is an error if a call returns too early, with another result than
 * that of a timeout, or with its timeout changed.
 */
#include "ptest.h"
#include <linux/aio_abi.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static struct timespec spec;
static const struct timespec unwritable = { .tv_nsec = 400000000 };

static int call_epoll_wait(void)
{
	static int fd;
	struct epoll_event e;

	if (fd == 0)
		fd = epoll_create1(0);
	return epoll_wait(fd, &e, 1, threads);
}

static int call_epoll_pwait2(void)
{
	static int fd;
	struct timespec ts = spec;
	struct epoll_event e;
	int r;

	if (fd == 0)
		fd = epoll_create1(0);
	r = (int)syscall(SYS_epoll_pwait2, fd, &e, 1, &ts, NULL, 8);
	if (ts.tv_sec != spec.tv_sec || ts.tv_nsec != spec.tv_nsec)
		wrong("epoll_pwait2: the timeout is %lld.%09ld", (long long)ts.tv_sec, ts.tv_nsec);
	return r;
}

static int call_sigtimedwait(void)
{
	struct timespec ts = spec;
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	r = sigtimedwait(&set, NULL, &ts);
	if (ts.tv_sec != spec.tv_sec || ts.tv_nsec != spec.tv_nsec)
		wrong("sigtimedwait: the timeout is %lld.%09ld", (long long)ts.tv_sec, ts.tv_nsec);
	return r;
}

static int call_semtimedop(void)
{
	static int id = -1;
	struct sembuf down = { .sem_op = -1 };
	struct timespec ts = spec;
	int r, err;

	if (id < 0) {
		id = semget(IPC_PRIVATE, 1, 0600);
	}
	r = semtimedop(id, &down, 1, &ts);
	err = errno;
	if (ts.tv_sec != spec.tv_sec || ts.tv_nsec != spec.tv_nsec)
		wrong("semtimedop: the timeout is %lld.%09ld", (long long)ts.tv_sec, ts.tv_nsec);
	errno = err;
	return r;
}

/* The timeout cannot be changed. */
static int call_unwritable(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &unwritable);
}

static int call_io_getevents(void)
{
	static aio_context_t context;
	struct timespec ts = spec;
	struct io_event e;
	int r;

	if (context == 0)
		syscall(SYS_io_setup, 4, &context);
	r = (int)syscall(SYS_io_getevents, context, 1, 1, &e, &ts);
	if (ts.tv_sec != spec.tv_sec || ts.tv_nsec != spec.tv_nsec)
		wrong("io_getevents: the timeout is %lld.%09ld", (long long)ts.tv_sec, ts.tv_nsec);
	return r;
}

static int timed_socket(int *fd)
{
	struct timeval tv = { .tv_sec = spec.tv_sec, .tv_usec = spec.tv_nsec / 1000 };

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		die("socketpair");
	if (setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) != 0)
		die("SO_RCVTIMEO");
	return 0;
}

static void check_socket(int fd, const char *name)
{
	struct timeval tv;
	socklen_t n = sizeof tv;

	getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, &n);
	if (tv.tv_sec != spec.tv_sec || tv.tv_usec != spec.tv_nsec / 1000)
		wrong("%s: the timeout is %lld.%06ld", name, (long long)tv.tv_sec, (long)tv.tv_usec);
}

static int call_recv(void)
{
	static int fd[2];
	char c;
	int r, err;

	if (fd[0] == 0)
		timed_socket(fd);
	r = (int)recv(fd[0], &c, 1, 0);
	err = errno;
	check_socket(fd[0], "recv");
	errno = err;
	return r;
}

static int call_read(void)
{
	static int fd[2];
	char c;
	int r, err;

	if (fd[0] == 0)
		timed_socket(fd);
	r = (int)read(fd[0], &c, 1);
	err = errno;
	check_socket(fd[0], "read");
	errno = err;
	return r;
}

static const struct way {
	const char *name;
	int (*call)(void);
	int result;
} ways[] = {
	{ "epoll_wait", call_epoll_wait, 0 },
	{ "epoll_pwait2", call_epoll_pwait2, 0 },
	{ "sigtimedwait", call_sigtimedwait, -EAGAIN },
	{ "semtimedop", call_semtimedop, -EAGAIN },
	{ "io_getevents", call_io_getevents, 0 },
	{ "recv SO_RCVTIMEO", call_recv, -EAGAIN },
	{ "read SO_RCVTIMEO", call_read, -EAGAIN },
	{ "sigtimedwait, unwritable", call_unwritable, -EAGAIN },
};

enum { NWAYS = sizeof ways / sizeof ways[0] };

static void *waiter(void *arg)
{
	int i = (int)(intptr_t)arg, r;
	int64_t excess;
	uint64_t n;

	for (n = 0; n < count; n++) {
		uint64_t began = now();

		r = ways[i].call();
		if (r < 0)
			r = -errno;
		excess = (int64_t)(now() - began) - threads * 1000000ll;
		if (r != ways[i].result)
			wrong("%s: %s", ways[i].name, strerror(-r));
		if (excess < -8000000)
			wrong("%s: %lld us too early", ways[i].name, -(long long)excess / 1000);
		if (excess > 0)
			raise_to(&truth->share[i], (uint64_t)excess);
		atomic_fetch_add(&truth->work, 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[NWAYS];
	sigset_t set;
	int i;

	start(argc, argv, NULL);
	(void)!unshare(CLONE_NEWIPC);
	spec.tv_sec = threads / 1000;
	spec.tv_nsec = threads % 1000 * 1000000l;
	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	ready();
	for (i = 0; i < NWAYS; i++)
		t[i] = spawn(waiter, (void *)(intptr_t)i);
	for (i = 0; i < NWAYS; i++)
		pthread_join(t[i], NULL);
	return done(count * NWAYS);
}
