/* Blocking calls that another thread makes return. */
#ifndef BLOCKERS_WOKEN_H
#define BLOCKERS_WOKEN_H

#include "blockers_timed.h"
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/un.h>

static void wake_write(struct blocker *b) { (void)!write(b->fd[1], "xxxxxxxx", 8); }

static void prepare_woken_pipe(struct blocker *b)
{
	prepare_pipe(b);
	nonblocking(b->fd[1]);
}

static void prepare_sockets(struct blocker *b)
{
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b->fd), "socketpair");
	nonblocking(b->fd[1]);
}

static int call_recvfrom(struct blocker *b)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof a;
	char c[4096];

	return (int)recvfrom(b->fd[0], c, sizeof c, 0, (struct sockaddr *)&a, &n);
}

static int call_recvmsg(struct blocker *b)
{
	char c[4096];
	struct iovec v = { c, sizeof c };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	return (int)recvmsg(b->fd[0], &m, 0);
}

static int call_poll_for_ever(struct blocker *b)
{
	struct pollfd p = { .fd = b->fd[0], .events = POLLIN };
	int r = poll(&p, 1, -1);
	char c[4096];

	return r < 0 ? r : (int)read(b->fd[0], c, sizeof c);
}

/* The first write fills the kernel's buffer. After that every write waits for the reader. */
static int call_write_full(struct blocker *b)
{
	static const char block[4096];

	return (int)write(b->fd[1], block, sizeof block);
}

static void prepare_full_pipe(struct blocker *b)
{
	prepare_pipe(b);
	must(fcntl(b->fd[1], F_SETPIPE_SZ, 4096), "F_SETPIPE_SZ");
	nonblocking(b->fd[0]);
}

static void prepare_full_socket(struct blocker *b)
{
	int size = 4096;

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b->fd), "socketpair");
	must(setsockopt(b->fd[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof size), "setsockopt");
	nonblocking(b->fd[0]);
}

static void wake_drain(struct blocker *b) { drain(b->fd[0]); }

/* An address without a name in the file system; the kernel chooses it. */
static void listener(struct blocker *b, struct sockaddr_un *a, socklen_t *n)
{
	struct sockaddr_un any = { .sun_family = AF_UNIX };

	b->fd[0] = must(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
	must(bind(b->fd[0], (struct sockaddr *)&any, sizeof any.sun_family), "bind");
	must(listen(b->fd[0], 0), "listen");
	*n = sizeof *a;
	must(getsockname(b->fd[0], (struct sockaddr *)a, n), "getsockname");
}

struct address {
	struct sockaddr_un a;
	socklen_t n;
};

static void prepare_listener(struct blocker *b)
{
	struct address *a = malloc(sizeof *a);

	listener(b, &a->a, &a->n);
	b->more = a;
}

static int call_accept(struct blocker *b)
{
	int fd = accept(b->fd[0], NULL, NULL);

	return fd < 0 ? -1 : close(fd);
}

static void wake_connect(struct blocker *b)
{
	struct address *a = b->more;
	int fd = must(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");

	(void)!connect(fd, (struct sockaddr *)&a->a, a->n); /* full: a connection already waits */
	close(fd);
}

static void prepare_full_listener(struct blocker *b)
{
	prepare_listener(b);
	nonblocking(b->fd[0]);
}

static int call_connect(struct blocker *b)
{
	struct address *a = b->more;
	int fd = must(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"), r, err;

	r = connect(fd, (struct sockaddr *)&a->a, a->n);
	err = errno;
	close(fd);
	errno = err;
	return r;
}

static void wake_accept(struct blocker *b)
{
	int fd = accept(b->fd[0], NULL, NULL);

	if (fd >= 0)
		close(fd);
}

static void prepare_eventfd(struct blocker *b)
{
	b->fd[0] = must(eventfd(0, EFD_CLOEXEC), "eventfd");
	b->fd[1] = b->fd[0];
}

static void wake_eventfd(struct blocker *b)
{
	uint64_t one = 1;

	(void)!write(b->fd[1], &one, sizeof one);
}

static void prepare_signalfd(struct blocker *b)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	b->fd[0] = must(signalfd(-1, &set, SFD_CLOEXEC), "signalfd");
}

static void wake_usr2(struct blocker *b) { syscall(SYS_tgkill, getpid(), b->tid, SIGUSR2); }

static void prepare_inotify(struct blocker *b)
{
	char path[] = "/tmp/blockers-XXXXXX";

	b->fd[1] = must(mkstemp(path), "mkstemp");
	b->fd[0] = must(inotify_init1(IN_CLOEXEC), "inotify_init1");
	must(inotify_add_watch(b->fd[0], path, IN_MODIFY), "inotify_add_watch");
	unlink(path);
}

static void wake_modify(struct blocker *b) { (void)!pwrite(b->fd[1], "x", 1, 0); }

static int call_futex(struct blocker *b)
{
	return (int)syscall(SYS_futex, &b->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void wake_futex(struct blocker *b) { syscall(SYS_futex, &b->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }

static int call_semop(struct blocker *b)
{
	struct sembuf down = { .sem_op = -1 };

	return semop(b->fd[0], &down, 1);
}

static void wake_semop(struct blocker *b)
{
	struct sembuf up = { .sem_op = 1, .sem_flg = IPC_NOWAIT };

	if (semctl(b->fd[0], 0, GETVAL) == 0)
		(void)!semop(b->fd[0], &up, 1);
}

struct message {
	long type;
	char text[1024];
};

static void prepare_msg(struct blocker *b) { b->fd[0] = must(msgget(IPC_PRIVATE, 0600), "msgget"); }

static int call_msgrcv(struct blocker *b)
{
	struct message m;

	return (int)msgrcv(b->fd[0], &m, sizeof m.text, 0, 0);
}

static void wake_msgsnd(struct blocker *b)
{
	struct message m = { .type = 1 };

	(void)!msgsnd(b->fd[0], &m, sizeof m.text, IPC_NOWAIT);
}

static int call_msgsnd(struct blocker *b)
{
	struct message m = { .type = 1 };

	return msgsnd(b->fd[0], &m, sizeof m.text, 0);
}

static void wake_msgrcv(struct blocker *b)
{
	struct message m;

	while (msgrcv(b->fd[0], &m, sizeof m.text, 0, IPC_NOWAIT) >= 0)
		;
}

static int call_sigwaitinfo(struct blocker *b UNUSED)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 6);
	return sigwaitinfo(&set, NULL);
}

static void wake_rt(struct blocker *b) { syscall(SYS_tgkill, getpid(), b->tid, SIGRTMIN + 6); }

/* Two descriptions of one file: the waker holds its lock, and releases it now and then. */
static void prepare_file(struct blocker *b)
{
	char path[] = "/tmp/blockers-XXXXXX";

	b->fd[0] = must(mkstemp(path), "mkstemp");
	b->fd[1] = must(open(path, O_RDWR | O_CLOEXEC), path);
	unlink(path);
}

static void prepare_flock(struct blocker *b)
{
	prepare_file(b);
	must(flock(b->fd[1], LOCK_EX), "flock");
}

static int call_flock(struct blocker *b)
{
	int r = flock(b->fd[0], LOCK_EX);

	if (r == 0)
		flock(b->fd[0], LOCK_UN);
	return r;
}

static void wake_flock(struct blocker *b)
{
	flock(b->fd[1], LOCK_UN);
	flock(b->fd[1], LOCK_EX | LOCK_NB);
}

static int lock(int fd, int cmd, short type)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_len = 1 };

	return fcntl(fd, cmd, &l);
}

static void prepare_ofd_lock(struct blocker *b)
{
	prepare_file(b);
	must(lock(b->fd[1], F_OFD_SETLK, F_WRLCK), "F_OFD_SETLK");
}

static int call_ofd_lock(struct blocker *b)
{
	int r = lock(b->fd[0], F_OFD_SETLKW, F_WRLCK);

	if (r == 0)
		lock(b->fd[0], F_OFD_SETLK, F_UNLCK);
	return r;
}

static void wake_ofd_lock(struct blocker *b)
{
	lock(b->fd[1], F_OFD_SETLK, F_UNLCK);
	lock(b->fd[1], F_OFD_SETLK, F_WRLCK);
}

/* These locks belong to processes: a child holds and releases it by turns, until we are gone. */
static void prepare_posix_lock(struct blocker *b)
{
	struct timespec hold = timeout_spec(), pause = { .tv_nsec = 1000000 };
	int alive[2];
	struct pollfd p;

	prepare_file(b);
	must(pipe2(alive, O_CLOEXEC), "pipe2");
	if (must(fork(), "fork") != 0) {
		close(alive[0]);
		return;
	}
	close(alive[1]);
	p.fd = alive[0];
	p.events = POLLIN;
	while (poll(&p, 1, 0) == 0) {
		lock(b->fd[1], F_SETLKW, F_WRLCK);
		nanosleep(&hold, NULL);
		lock(b->fd[1], F_SETLK, F_UNLCK);
		nanosleep(&pause, NULL);
	}
	_exit(0);
}

static int call_posix_lock(struct blocker *b)
{
	int r = lock(b->fd[0], F_SETLKW, F_WRLCK);

	if (r == 0)
		lock(b->fd[0], F_SETLK, F_UNLCK);
	return r;
}

/* A FIFO whose other end is opened now and then. */
static void prepare_fifo(struct blocker *b)
{
	char dir[] = "/tmp/blockers-XXXXXX", path[sizeof dir + 8];

	if (mkdtemp(dir) == NULL)
		die("mkdtemp");
	snprintf(path, sizeof path, "%s/fifo", dir);
	must(mkfifo(path, 0600), path);
	b->fd[0] = must(open(path, O_PATH | O_CLOEXEC), path);
	unlink(path);
	rmdir(dir);
	b->more = malloc(64);
	snprintf(b->more, 64, "/proc/self/fd/%d", b->fd[0]);
}

static int call_open_fifo(struct blocker *b)
{
	int fd = open(b->more, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : close(fd);
}

static void wake_open_fifo(struct blocker *b)
{
	int fd = open(b->more, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
}

#endif
