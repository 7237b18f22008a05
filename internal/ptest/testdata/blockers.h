/* The kinds of blocking calls of blockers.c: what they have in common. */
#ifndef BLOCKERS_H
#define BLOCKERS_H

#include <signal.h>
#include <sys/syscall.h>

struct blocker;

struct way {
	const char *name;
	void (*prepare)(struct blocker *);
	int (*call)(struct blocker *); /* blocks; -1 and errno like a system call */
	void (*wake)(struct blocker *); /* lets the call return; NULL: it ends by its timeout */
	int timed;                      /* whether the call takes timeout_ns by itself */
};

struct blocker {
	const struct way *way;
	int index;
	int fd[2];
	int word; /* of a futex */
	pid_t tid;
	_Atomic int ended;
	void *more;
};

/* How long a timed call waits. */
enum { TIMEOUT_MS = 20 };
static const uint64_t timeout_ns = TIMEOUT_MS * 1000000u;

static UNUSED struct timespec timeout_spec(void)
{
	struct timespec ts = { .tv_nsec = TIMEOUT_MS * 1000000 };

	return ts;
}

/* The present time of a clock plus the timeout. */
static UNUSED struct timespec timeout_at(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	ts.tv_nsec += TIMEOUT_MS * 1000000;
	if (ts.tv_nsec >= 1000000000)
		ts.tv_nsec -= 1000000000, ts.tv_sec++;
	return ts;
}

static UNUSED int must(int r, const char *what)
{
	if (r < 0)
		die(what);
	return r;
}

/* Read without blocking until nothing is left. */
static UNUSED void drain(int fd)
{
	char b[4096];

	while (read(fd, b, sizeof b) > 0)
		;
}

static UNUSED void nonblocking(int fd) { must(fcntl(fd, F_SETFL, O_NONBLOCK), "fcntl"); }

#endif
