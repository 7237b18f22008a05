/*
 * transfers: has a thread for each kind of system call that moves much data, a little at a time, and that
 * returns how much it has moved if it is interrupted. Each thread makes its call -n times (0: until standard
 * input ends), while another thread provides or takes a little every millisecond. A call that returns less
 * than it was asked for is counted (the page's kinds), and so is one that returns EINTR or the like. A
 * program that is left alone sees neither. With -k NAME only that kind runs; with -x WORD kinds with it in
 * their name do not. The checksum is the number of kinds times n; kinds that were short are printed before
 * it.
 */
#include "ptest.h"
#include <linux/aio_abi.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <termios.h>

/* A number of the kernel's own, but a recvmmsg that was cut short leaves it in the socket as an error. */
enum { ERESTARTSYS = 512 };

enum { BIG = 256 * 1024, PIECE = 16 * 1024, HUGE = 4 * 1024 * 1024, SMALL = 48, MESSAGES = 16 };

struct transfer {
	const struct way *way;
	int index;
	int fd[2], file;
	void *more;
	_Atomic int ended;
};

struct way {
	const char *name;
	void (*prepare)(struct transfer *);
	ssize_t (*call)(struct transfer *);
	ssize_t want;
	void (*feed)(struct transfer *); /* provides or takes a little; NULL: not needed */
};

static char zeros[BIG];

static int must(int r, const char *what)
{
	if (r < 0)
		die(what);
	return r;
}

static void prepare_pipe(struct transfer *t) { must(pipe2(t->fd, O_CLOEXEC), "pipe2"); }
static void prepare_stream(struct transfer *t) { must(socketpair(AF_UNIX, SOCK_STREAM, 0, t->fd), "socketpair"); }
static void prepare_datagrams(struct transfer *t) { must(socketpair(AF_UNIX, SOCK_DGRAM, 0, t->fd), "socketpair"); }

static void prepare_file(struct transfer *t)
{
	prepare_stream(t);
	t->file = must(memfd_create("transfers", MFD_CLOEXEC), "memfd_create");
	must(ftruncate(t->file, BIG), "ftruncate");
}

/* A terminal that returns what was typed when there are SMALL bytes of it. */
static void prepare_terminal(struct transfer *t)
{
	struct termios raw;

	t->fd[1] = must(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), "posix_openpt");
	if (grantpt(t->fd[1]) != 0 || unlockpt(t->fd[1]) != 0)
		die("unlockpt");
	t->fd[0] = must(open(ptsname(t->fd[1]), O_RDWR | O_NOCTTY | O_CLOEXEC), "open terminal");
	must(tcgetattr(t->fd[0], &raw), "tcgetattr");
	cfmakeraw(&raw);
	raw.c_cc[VMIN] = SMALL;
	raw.c_cc[VTIME] = 0;
	must(tcsetattr(t->fd[0], TCSANOW, &raw), "tcsetattr");
}

static void prepare_urandom(struct transfer *t)
{
	t->fd[0] = must(open("/dev/urandom", O_RDONLY | O_CLOEXEC), "/dev/urandom");
	t->more = malloc(HUGE);
}

static void prepare_memory(struct transfer *t) { t->more = malloc(HUGE); }

static void prepare_aio(struct transfer *t)
{
	static aio_context_t context;

	prepare_pipe(t);
	must(fcntl(t->fd[1], F_SETFL, O_NONBLOCK), "fcntl");
	must((int)syscall(SYS_io_setup, 2 * MESSAGES, &context), "io_setup");
	t->more = &context;
}

static ssize_t call_write(struct transfer *t) { return write(t->fd[1], zeros, BIG); }

static ssize_t call_writev(struct transfer *t)
{
	struct iovec v[2] = { { zeros, BIG / 2 }, { zeros, BIG / 2 } };

	return writev(t->fd[1], v, 2);
}

static ssize_t call_sendto(struct transfer *t) { return send(t->fd[1], zeros, BIG, 0); }

static ssize_t call_sendmsg(struct transfer *t)
{
	struct iovec v = { zeros, BIG };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	return sendmsg(t->fd[1], &m, 0);
}

static ssize_t call_recv(struct transfer *t)
{
	char b[SMALL];

	return recv(t->fd[0], b, sizeof b, MSG_WAITALL);
}

static ssize_t call_recvmsg(struct transfer *t)
{
	char b[SMALL];
	struct iovec v = { b, sizeof b };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	return recvmsg(t->fd[0], &m, MSG_WAITALL);
}

static void messages(struct mmsghdr *m, struct iovec *v, char *b)
{
	int i;

	memset(m, 0, MESSAGES * sizeof *m);
	for (i = 0; i < MESSAGES; i++) {
		v[i].iov_base = b + i;
		v[i].iov_len = 1;
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
}

static ssize_t call_recvmmsg(struct transfer *t)
{
	struct mmsghdr m[MESSAGES];
	struct iovec v[MESSAGES];
	char b[MESSAGES];

	messages(m, v, b);
	return recvmmsg(t->fd[0], m, MESSAGES, 0, NULL);
}

static ssize_t call_sendmmsg(struct transfer *t)
{
	struct mmsghdr m[MESSAGES];
	struct iovec v[MESSAGES];
	char b[MESSAGES] = { 0 };

	messages(m, v, b);
	return sendmmsg(t->fd[1], m, MESSAGES, 0);
}

static ssize_t call_sendfile(struct transfer *t)
{
	off_t off = 0;

	return sendfile(t->fd[1], t->file, &off, BIG);
}

static ssize_t call_terminal(struct transfer *t)
{
	char b[SMALL];

	return read(t->fd[0], b, sizeof b);
}

static ssize_t call_getrandom(struct transfer *t) { return getrandom(t->more, HUGE, 0); }
static ssize_t call_urandom(struct transfer *t) { return read(t->fd[0], t->more, HUGE); }

/* Waits for a readable pipe several times over; each of the requests is done at once when it is. */
static ssize_t call_io_getevents(struct transfer *t)
{
	struct io_event e[MESSAGES];
	struct iocb cb[2] = { { .aio_lio_opcode = IOCB_CMD_POLL, .aio_fildes = (uint32_t)t->fd[0], .aio_buf = POLLIN } }, *p[2] = { cb, cb };
	aio_context_t context = *(aio_context_t *)t->more;
	char c[4096];
	ssize_t n;

	/* One that is ready now and one that is ready when the feeder has written. */
	(void)!write(t->fd[1], "", 1);
	must((int)syscall(SYS_io_submit, context, 1, p), "io_submit");
	(void)!read(t->fd[0], c, sizeof c);
	cb[1] = cb[0];
	p[1] = &cb[1];
	must((int)syscall(SYS_io_submit, context, 1, p + 1), "io_submit");
	n = syscall(SYS_io_getevents, context, 2, 2, e, NULL);
	if (n == 1)
		(void)!syscall(SYS_io_getevents, context, 1, 1, e, NULL);
	return n;
}

static void take(struct transfer *t)
{
	static __thread char b[PIECE];

	(void)!recv(t->fd[0], b, sizeof b, MSG_DONTWAIT);
}

static void take_pipe(struct transfer *t)
{
	static __thread char b[PIECE];
	struct pollfd p = { .fd = t->fd[0], .events = POLLIN };

	if (poll(&p, 1, 0) > 0)
		(void)!read(t->fd[0], b, sizeof b);
}

static void give(struct transfer *t) { (void)!send(t->fd[1], "xx", 2, MSG_DONTWAIT); }

static void type(struct transfer *t)
{
	struct pollfd p = { .fd = t->fd[1], .events = POLLOUT };

	if (poll(&p, 1, 0) > 0)
		(void)!write(t->fd[1], "xx", 2);
}

static void give_pipe(struct transfer *t)
{
	static _Atomic unsigned n;

	if (atomic_fetch_add(&n, 1) % 16 == 0)
		(void)!write(t->fd[1], "", 1);
}

static const struct way ways[] = {
	{ "write pipe", prepare_pipe, call_write, BIG, take_pipe },
	{ "write socket", prepare_stream, call_write, BIG, take },
	{ "writev pipe", prepare_pipe, call_writev, BIG, take_pipe },
	{ "sendto", prepare_stream, call_sendto, BIG, take },
	{ "sendmsg", prepare_stream, call_sendmsg, BIG, take },
	{ "recv MSG_WAITALL", prepare_stream, call_recv, SMALL, give },
	{ "recvmsg MSG_WAITALL", prepare_stream, call_recvmsg, SMALL, give },
	{ "recvmmsg", prepare_datagrams, call_recvmmsg, MESSAGES, give },
	{ "sendmmsg", prepare_datagrams, call_sendmmsg, MESSAGES, take },
	{ "sendfile", prepare_file, call_sendfile, BIG, take },
	{ "read terminal", prepare_terminal, call_terminal, SMALL, type },
	{ "io_getevents", prepare_aio, call_io_getevents, 2, give_pipe },
	{ "getrandom", prepare_memory, call_getrandom, HUGE, NULL },
	{ "read /dev/urandom", prepare_urandom, call_urandom, HUGE, NULL },
};

enum { NWAYS = sizeof ways / sizeof ways[0] };
_Static_assert((int)NWAYS <= (int)KINDS, "the page holds all kinds");

static struct transfer transfers[NWAYS];
static const char *only, *without;
static _Atomic int stop;

static void *transfer(void *arg)
{
	struct transfer *t = arg;
	uint64_t n;

	for (n = 0; count == 0 ? !atomic_load(&stop) : n < count; n++) {
		ssize_t got = t->way->call(t);

		if (got < 0 && (errno == EINTR || errno == ERESTARTSYS))
			atomic_fetch_add(&truth->eintr, 1);
		else if (got < 0)
			wrong("%s: %s", t->way->name, strerror(errno));
		else if (got < t->way->want)
			atomic_fetch_add(&truth->kind[t->index], 1);
		atomic_fetch_add(&truth->work, 1);
	}
	atomic_store(&t->ended, 1);
	return NULL;
}

/* Provides and takes data until all threads have ended. */
static void feed_all(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int left, i;

	do {
		nanosleep(&pause, NULL);
		if (count == 0 && over())
			atomic_store(&stop, 1);
		for (left = i = 0; i < NWAYS; i++) {
			struct transfer *t = &transfers[i];

			if (t->way == NULL || atomic_load(&t->ended))
				continue;
			left++;
			if (t->way->feed != NULL)
				t->way->feed(t);
		}
	} while (left > 0);
}

static void extra(int letter, const char *value)
{
	if (letter == 'k')
		only = value;
	if (letter == 'x')
		without = value;
}

int main(int argc, char **argv)
{
	pthread_t threads_of[NWAYS];
	int i, n = 0;

	start(argc, argv, extra);
	for (i = 0; i < NWAYS; i++) {
		if (only != NULL && strcmp(only, ways[i].name) != 0)
			continue;
		if (without != NULL && strstr(ways[i].name, without) != NULL)
			continue;
		transfers[i].way = &ways[i];
		transfers[i].index = i;
		ways[i].prepare(&transfers[i]);
		threads_of[i] = spawn(transfer, &transfers[i]);
		n++;
	}
	ready();
	feed_all();
	for (i = 0; i < NWAYS; i++) {
		if (transfers[i].way == NULL)
			continue;
		pthread_join(threads_of[i], NULL);
		if (truth->kind[i] > 0)
			printf("short %s %llu\n", ways[i].name, (unsigned long long)truth->kind[i]);
	}
	return done((uint64_t)n * count);
}
