/*
 * everywait DIR: has a thread for each system call that can wait, which waits in it for ever and has its name. A name of two
 * words is a variant of a call. A child named "holder" has the locks that are wanted, and the other ends of pipes and sockets.
 * A line "cannot NAME: REASON" is printed for each call that this kernel does not have or permit; then "ready", when all wait.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_futex_wait
#define SYS_futex_wait 455
#endif

struct call {
	const char *name;
	long nr, args[6];
	pid_t tid;
	int failed; /* errno of a call that has returned */
};

static struct call calls[96];
static int ncalls;

static void die(const char *what)
{
	fprintf(stderr, "everywait: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int must(long r, const char *what)
{
	if (r < 0)
		die(what);
	return (int)r;
}

static void *wait_in(void *arg)
{
	struct call *c = arg;
	char name[16] = "";

	strncpy(name, c->name, sizeof name - 1);
	prctl(PR_SET_NAME, name);
	__atomic_store_n(&c->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	long r = syscall(c->nr, c->args[0], c->args[1], c->args[2], c->args[3], c->args[4], c->args[5]);
	__atomic_store_n(&c->failed, r < 0 ? errno : EAGAIN, __ATOMIC_SEQ_CST);
	return NULL;
}

static void add(const char *name, long nr, long a, long b, long c, long d, long e, long f)
{
	struct call *made = &calls[ncalls++];
	pthread_t t;

	*made = (struct call){ name, nr, { a, b, c, d, e, f }, 0, 0 };
	errno = pthread_create(&t, NULL, wait_in, made);
	if (errno != 0)
		die("pthread_create");
}

#define L(x) ((long)(intptr_t)(x))
#define CALL(name, ...) CALL6(name, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define CALL6(name, a, b, c, d, e, f, ...) add(#name, SYS_##name, L(a), L(b), L(c), L(d), L(e), L(f))
#define VARIANT(text, name, ...) VARIANT6(text, name, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define VARIANT6(text, name, a, b, c, d, e, f, ...) add(text, SYS_##name, L(a), L(b), L(c), L(d), L(e), L(f))

static char buf[1 << 16];
static struct iovec iov = { buf, sizeof buf };
static struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
static struct mmsghdr messages = { .msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1 } };
static struct timespec hour = { 3600, 0 }, hour_left;
static int empty[2], full[2], pair[2], full_pair[2]; /* the child has what is not waited at */
static int locked, record;
static const char *dir;

static const char *in_dir(const char *name)
{
	static char paths[16][256];
	static int n;

	snprintf(paths[n], sizeof paths[n], "%s/%s", dir, name);
	return paths[n++];
}

static void fill(int fd)
{
	must(fcntl(fd, F_SETFL, O_NONBLOCK), "fcntl");
	while (write(fd, buf, sizeof buf) > 0 || write(fd, buf, 1) > 0)
		;
	must(fcntl(fd, F_SETFL, 0), "fcntl");
}

/* holder takes the locks, says so and waits for its end. */
static void holder(int told)
{
	struct flock some = { .l_type = F_WRLCK, .l_len = 100 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "holder");
	must(flock(open(in_dir("locked"), O_RDWR), LOCK_EX), "flock");
	must(fcntl(open(in_dir("record"), O_RDWR), F_SETLK, &some), "fcntl");
	close(empty[0]), close(full[1]), close(pair[0]), close(full_pair[0]);
	(void)!write(told, "", 1);
	pause();
	_exit(0);
}

static void files(void)
{
	CALL(read, empty[0], buf, 1);
	CALL(readv, empty[0], &iov, 1);
	CALL(preadv2, empty[0], &iov, 1, -1, -1);
	CALL(recvfrom, pair[0], buf, 1);
	CALL(recvmsg, pair[0], &message);
	CALL(recvmmsg, pair[0], &messages, 1);
	CALL(write, full[1], buf, sizeof buf);
	CALL(writev, full[1], &iov, 1);
	CALL(pwritev2, full[1], &iov, 1, -1, -1);
	CALL(vmsplice, full[1], &iov, 1);
	CALL(sendfile, full[1], open("/proc/self/exe", O_RDONLY), 0, 4096);
	CALL(sendto, full_pair[0], buf, sizeof buf);
	CALL(sendmsg, full_pair[0], &message);
	CALL(sendmmsg, full_pair[0], &messages, 1);
	CALL(splice, empty[0], 0, full[1], 0, 1);
	CALL(tee, empty[0], full[1], 1);
}

static void sockets(void)
{
	static struct sockaddr_un a = { .sun_family = AF_UNIX };
	socklen_t n = sizeof a;
	int crowded = socket(AF_UNIX, SOCK_STREAM, 0), quiet = socket(AF_UNIX, SOCK_STREAM, 0);

	must(bind(crowded, (struct sockaddr *)&a, sizeof(sa_family_t)), "bind");
	must(listen(crowded, 0), "listen");
	must(getsockname(crowded, (struct sockaddr *)&a, &n), "getsockname");
	must(connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&a, n), "connect");
	CALL(connect, socket(AF_UNIX, SOCK_STREAM, 0), &a, n);
	must(bind(quiet, (struct sockaddr *)&(struct sockaddr_un){ .sun_family = AF_UNIX }, sizeof(sa_family_t)), "bind");
	must(listen(quiet, 1), "listen");
	CALL(accept, quiet);
	CALL(accept4, quiet);
}

static void queues(void)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	static struct { long type; char text[4096]; } m = { .type = 1 };
	static struct sembuf one[] = { { 1, -1, 0 } }, two[] = { { 0, -1, 0 }, { 2, -1, 0 } };
	char name[64];
	int set, in, out;
	mqd_t q;

	snprintf(name, sizeof name, "/everywait-%d", (int)getpid());
	if ((q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr)) >= 0) {
		mq_unlink(name);
		CALL(mq_timedreceive, q, buf, 8);
	}
	if ((q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr)) >= 0) {
		mq_unlink(name);
		mq_send(q, buf, 1, 0);
		CALL(mq_timedsend, q, buf, 1);
	}
	in = must(msgget(IPC_PRIVATE, 0600), "msgget"), out = must(msgget(IPC_PRIVATE, 0600), "msgget");
	CALL(msgrcv, in, &m, sizeof m.text);
	while (msgsnd(out, &m, sizeof m.text, IPC_NOWAIT) == 0)
		;
	CALL(msgsnd, out, &m, sizeof m.text);
	set = must(semget(IPC_PRIVATE, 3, 0600), "semget");
	CALL(semop, set, one, 1);
	CALL(semtimedop, set, two, 2, &hour);
}

static void polls(void)
{
	static struct pollfd p[2];
	static fd_set in, out, in6;
	static struct timeval limit = { 3600, 0 };
	static struct timespec rest = { 3600, 0 }, rest6 = { 3600, 0 };
	static struct epoll_event e;
	static aio_context_t context;
	static struct io_uring_params ring;
	int ep = epoll_create1(0), gone = eventfd(0, 0), fd;

	p[0] = (struct pollfd){ empty[0], POLLIN, 0 };
	p[1] = (struct pollfd){ full[1], POLLOUT, 0 };
	CALL(poll, p, 2, 3600000);
	CALL(ppoll, p, 1, &rest);
	FD_SET(empty[0], &in), FD_SET(full[1], &out), FD_SET(empty[0], &in6);
	CALL(select, full[1] + 1, &in, &out, 0, &limit);
	CALL(pselect6, empty[0] + 1, &in6, 0, 0, &rest6);
	e.events = EPOLLIN;
	must(epoll_ctl(ep, EPOLL_CTL_ADD, pair[0], &e), "epoll_ctl");
	must(epoll_ctl(ep, EPOLL_CTL_ADD, gone, &e), "epoll_ctl");
	CALL(epoll_wait, ep, &e, 1, -1);
	CALL(epoll_pwait, ep, &e, 1, 3600000);
	CALL(epoll_pwait2, ep, &e, 1, &hour);
	if (syscall(SYS_io_setup, 4, &context) == 0) {
		CALL(io_getevents, context, 1, 1, buf);
		CALL(io_pgetevents, context, 1, 1, buf, &hour);
	}
	if ((fd = (int)syscall(SYS_io_uring_setup, 4, &ring)) >= 0)
		CALL(io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS);
}

static void others(pid_t child)
{
	static struct timespec again = { 3600, 0 }, at;
	static uint32_t word;
	static struct { uint64_t value, addr; uint32_t flags, reserved; } v[2];
	static struct flock all = { .l_type = F_RDLCK }, owned = { .l_type = F_WRLCK, .l_start = 50, .l_len = 10 };
	static struct { uint64_t flags, mode, resolve; } how = { O_RDONLY, 0, 0 };
	static sigset_t none, usr2;

	sigaddset(&usr2, SIGUSR2);
	CALL(pause, 0);
	CALL(rt_sigsuspend, &none, 8);
	CALL(rt_sigtimedwait, &usr2, 0, &hour, 8);
	CALL(wait4, child);
	VARIANT("wait4 any", wait4, -1);
	CALL(waitid, P_PID, child, 0, WEXITED);
	VARIANT("waitid group", waitid, P_PGID, getpgrp(), 0, WEXITED);
	CALL(nanosleep, &hour, &hour_left);
	VARIANT("nanosleep again", nanosleep, &again, &again);
	VARIANT("nanosleep alone", nanosleep, &hour, 0);
	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += 3600;
	CALL(clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &at, 0);
	CALL(futex, &word, 0, 0);
	CALL(futex_wait, &word, 0, 0xffffffffL, 2, 0, 0);
	for (int i = 0; i < 2; i++)
		v[i].addr = (uint64_t)(uintptr_t)&word, v[i].flags = 2;
	CALL(futex_waitv, v, 2, 0, 0, 0);
	locked = open(in_dir("locked"), O_RDWR), record = open(in_dir("record"), O_RDWR);
	CALL(flock, locked, LOCK_SH);
	CALL(fcntl, record, F_SETLKW, &all);
	VARIANT("fcntl OFD", fcntl, record, 38, &owned);
	CALL(open, in_dir("fifo"), O_RDONLY);
	must(chdir(dir), "chdir");
	CALL(openat, AT_FDCWD, "fifo2", O_WRONLY);
	CALL(creat, "fifo3", 0600);
	CALL(openat2, AT_FDCWD, in_dir("fifo"), &how, sizeof how);
}

/* waits reports whether a thread is in its call. */
static int waits(const struct call *c)
{
	char path[64], line[64] = "";
	FILE *f;

	if (__atomic_load_n(&c->tid, __ATOMIC_SEQ_CST) == 0)
		return 0;
	snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)c->tid);
	if ((f = fopen(path, "r")) != NULL) {
		(void)!fgets(line, sizeof line, f);
		fclose(f);
	}
	return line[0] >= '0' && line[0] <= '9' && atol(line) == c->nr;
}

int main(int argc, char **argv)
{
	static const struct timespec moment = { 0, 1000000 };
	int told[2];
	sigset_t usr2;
	pid_t child;

	if (argc < 2)
		return 2;
	dir = argv[1];
	signal(SIGPIPE, SIG_IGN);
	(void)!unshare(CLONE_NEWIPC); /* queues vanish with us */
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &usr2, NULL);
	close(must(open(in_dir("locked"), O_RDWR | O_CREAT, 0600), "open"));
	close(must(open(in_dir("record"), O_RDWR | O_CREAT, 0600), "open"));
	for (int i = 0; i < 3; i++)
		must(mkfifo(in_dir((const char *[]){ "fifo", "fifo2", "fifo3" }[i]), 0600), "mkfifo");
	must(pipe(empty), "pipe");
	must(pipe(full), "pipe");
	must(pipe(told), "pipe");
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, full_pair), "socketpair");
	fill(full[1]);
	fill(full_pair[0]);
	if ((child = must(fork(), "fork")) == 0)
		holder(told[1]);
	must(read(told[0], buf, 1), "read");
	close(empty[1]), close(full[0]), close(pair[1]), close(full_pair[1]);
	files();
	sockets();
	queues();
	polls();
	others(child);
	for (int i = 0; i < ncalls; i++) {
		while (!waits(&calls[i]) && __atomic_load_n(&calls[i].failed, __ATOMIC_SEQ_CST) == 0)
			nanosleep(&moment, NULL);
		if (calls[i].failed != 0)
			printf("cannot %s: %s\n", calls[i].name, strerror(calls[i].failed));
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
