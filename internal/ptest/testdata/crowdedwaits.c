/*
 * crowdedwaits -t THREADS: what its threads wait for takes long to describe. Half of them wait for one epoll that watches 10,000
 * descriptors, half for a lock of a file that 300 opened files hold, each with a line in /proc/locks.
 */
#include "ptest.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>

enum { WATCHED = 10000, HOLDERS = 300 };

static int events, contended;

static void *wait_for_events(void *arg)
{
	struct epoll_event e;

	for (;;)
		epoll_wait(events, &e, 1, -1);
	return arg;
}

static void *wait_for_lock(void *arg)
{
	for (;;)
		flock(contended, LOCK_EX);
	return arg;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/crowdedwaits-XXXXXX", line[16];
	struct rlimit files;
	struct epoll_event e = { .events = EPOLLIN };
	pthread_t thread;
	int never;

	start(argc, argv, NULL);
	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		die("getrlimit");
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) != 0)
		die("setrlimit");
	contended = mkstemp(path);
	for (int i = 0; i < HOLDERS; i++) {
		int fd = open(path, O_RDWR | O_CLOEXEC);

		if (fd < 0 || flock(fd, LOCK_SH) != 0)
			die("flock");
	}
	unlink(path);
	events = epoll_create1(EPOLL_CLOEXEC);
	never = eventfd(0, EFD_CLOEXEC);
	for (int i = 0; i < WATCHED; i++) {
		int fd = dup(never);

		if (fd < 0 || epoll_ctl(events, EPOLL_CTL_ADD, fd, &e) != 0)
			die("epoll_ctl");
	}
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, i % 2 ? wait_for_lock : wait_for_events, NULL) != 0)
			die("pthread_create");
	ready();
	while (read(0, line, sizeof line) > 0)
		;
	_exit(0);
}
