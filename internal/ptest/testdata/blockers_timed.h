/* Blocking calls that end by a timeout of their own, or by the event of a clock. */
#ifndef BLOCKERS_TIMED_H
#define BLOCKERS_TIMED_H

#include "blockers.h"
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

static void prepare_pipe(struct blocker *b) { must(pipe2(b->fd, O_CLOEXEC), "pipe2"); }

static void prepare_epoll(struct blocker *b) { b->fd[0] = must(epoll_create1(EPOLL_CLOEXEC), "epoll_create1"); }

static int call_epoll_wait(struct blocker *b)
{
	struct epoll_event e;

	return epoll_wait(b->fd[0], &e, 1, TIMEOUT_MS);
}

static int call_epoll_pwait(struct blocker *b)
{
	struct epoll_event e;
	sigset_t set;

	sigemptyset(&set);
	return epoll_pwait(b->fd[0], &e, 1, TIMEOUT_MS, &set);
}

static int call_poll(struct blocker *b)
{
	struct pollfd p = { .fd = b->fd[0], .events = POLLIN };

	return poll(&p, 1, TIMEOUT_MS);
}

static int call_ppoll(struct blocker *b)
{
	struct pollfd p = { .fd = b->fd[0], .events = POLLIN };
	struct timespec ts = timeout_spec();
	sigset_t set;

	sigemptyset(&set);
	return ppoll(&p, 1, &ts, &set);
}

static int call_select(struct blocker *b)
{
	struct timeval tv = { .tv_usec = TIMEOUT_MS * 1000 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(b->fd[0], &set);
	return select(b->fd[0] + 1, &set, NULL, NULL, &tv);
}

static int call_pselect(struct blocker *b)
{
	struct timespec ts = timeout_spec();
	sigset_t mask;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(b->fd[0], &set);
	sigemptyset(&mask);
	return pselect(b->fd[0] + 1, &set, NULL, NULL, &ts, &mask);
}

static void prepare_rcvtimeo(struct blocker *b)
{
	struct timeval tv = { .tv_usec = TIMEOUT_MS * 1000 };

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b->fd), "socketpair");
	must(setsockopt(b->fd[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv), "setsockopt");
}

static int call_recv_timed(struct blocker *b)
{
	char c;

	return (int)recv(b->fd[0], &c, 1, 0);
}

static int call_futex_timed(struct blocker *b)
{
	struct timespec ts = timeout_spec();

	return (int)syscall(SYS_futex, &b->word, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0);
}

static int call_futex_until(struct blocker *b)
{
	struct timespec ts = timeout_at(CLOCK_MONOTONIC);

	return (int)syscall(SYS_futex, &b->word, FUTEX_WAIT_BITSET_PRIVATE, 0, &ts, NULL, FUTEX_BITSET_MATCH_ANY);
}

static int call_nanosleep(struct blocker *b UNUSED)
{
	struct timespec ts = timeout_spec();

	return nanosleep(&ts, NULL);
}

static int call_clock_nanosleep(struct blocker *b UNUSED)
{
	struct timespec ts = timeout_at(CLOCK_MONOTONIC);

	return (errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL)) == 0 ? 0 : -1;
}

static void prepare_sem(struct blocker *b) { b->fd[0] = must(semget(IPC_PRIVATE, 1, 0600), "semget"); }

static int call_semtimedop(struct blocker *b)
{
	struct sembuf down = { .sem_op = -1 };
	struct timespec ts = timeout_spec();

	return semtimedop(b->fd[0], &down, 1, &ts);
}

static void prepare_mq(struct blocker *b)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	char name[64];

	snprintf(name, sizeof name, "/blockers-%d-%d", (int)getpid(), b->index);
	b->fd[0] = must(mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attr), "mq_open");
	mq_unlink(name);
}

static int call_mq_timedreceive(struct blocker *b)
{
	struct timespec ts = timeout_at(CLOCK_REALTIME);
	char m[8];

	return (int)mq_timedreceive(b->fd[0], m, sizeof m, NULL, &ts);
}

static int call_sigtimedwait(struct blocker *b UNUSED)
{
	struct timespec ts = timeout_spec();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 5);
	return sigtimedwait(&set, NULL, &ts);
}

static void prepare_aio(struct blocker *b)
{
	static aio_context_t context;

	must((int)syscall(SYS_io_setup, 4, &context), "io_setup");
	b->more = &context;
}

static int call_io_getevents(struct blocker *b)
{
	struct timespec ts = timeout_spec();
	struct io_event e;

	return (int)syscall(SYS_io_getevents, *(aio_context_t *)b->more, 1, 1, &e, &ts);
}

static void prepare_timerfd(struct blocker *b)
{
	struct itimerspec it = { .it_interval = timeout_spec(), .it_value = timeout_spec() };

	b->fd[0] = must(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), "timerfd_create");
	must(timerfd_settime(b->fd[0], 0, &it, NULL), "timerfd_settime");
}

static int call_read(struct blocker *b)
{
	uint64_t v[16]; /* enough for a siginfo of a signalfd, or an inotify event */

	return (int)read(b->fd[0], v, sizeof v);
}

/* A child that lives as long as a timeout. */
static pid_t brief_child(void)
{
	struct timespec ts = timeout_spec();
	pid_t pid = must(fork(), "fork");

	if (pid == 0) {
		nanosleep(&ts, NULL);
		_exit(5);
	}
	return pid;
}

static int call_wait4(struct blocker *b UNUSED)
{
	pid_t pid = brief_child();
	int status, r, err;

	if ((r = (int)syscall(SYS_wait4, pid, &status, 0, NULL)) < 0) {
		err = errno;
		(void)!waitpid(pid, NULL, 0);
		errno = err;
		return -1;
	}
	if (status != 5 << 8)
		wrong("wait4: status %#x", status);
	return r;
}

static int call_waitid(struct blocker *b UNUSED)
{
	pid_t pid = brief_child();
	siginfo_t si;
	int r, err;

	if ((r = waitid(P_PID, (id_t)pid, &si, WEXITED)) < 0) {
		err = errno;
		(void)!waitpid(pid, NULL, 0);
		errno = err;
		return -1;
	}
	if (si.si_status != 5 || si.si_code != CLD_EXITED)
		wrong("waitid: status %d", si.si_status);
	return r;
}

#endif
