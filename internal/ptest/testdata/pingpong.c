/*
 * pingpong: a server and a client pass a message to and fro, as fast as they can: the server sleeps and wakes tens of
 * thousands of times a second. The page's shares 0, 1 and 2 are the processor time, in ns, of the server's read, its
 * work and its write, as the kernel accounts them.
 */
#include "ptest.h"
#include "burn.h"
#include <sys/socket.h>

enum { LEN = 16384 };

static int ends[2];

NOINLINE static void receive(int fd, char *p)
{
	ssize_t n, all = 0;

	while (all < LEN && (n = read(fd, p + all, LEN - all)) > 0)
		all += n;
	if (all != LEN)
		_exit(0);
}

NOINLINE static void answer(int fd, const char *p)
{
	if (write(fd, p, LEN) != LEN)
		_exit(0);
}

NOINLINE static uint64_t serve(uint64_t x) { return burn(x, 5); }

static void *client(void *arg)
{
	static char buf[LEN];

	pthread_setname_np(pthread_self(), "client");
	for (;;) {
		answer(ends[1], buf);
		receive(ends[1], buf);
	}
	return arg;
}

static void *server(void *arg)
{
	static char buf[LEN];
	uint64_t x = 1;

	pthread_setname_np(pthread_self(), "server");
	for (;;) {
		uint64_t t0 = cpu_now(), t1, t2, t3;

		receive(ends[0], buf);
		t1 = cpu_now();
		x = serve(x);
		t2 = cpu_now();
		answer(ends[0], buf);
		t3 = cpu_now();
		atomic_fetch_add(&truth->share[0], t1 - t0);
		atomic_fetch_add(&truth->share[1], t2 - t1);
		atomic_fetch_add(&truth->share[2], t3 - t2);
		atomic_fetch_add(&truth->work, 1);
	}
	return (void *)(uintptr_t)x;
}

int main(int argc, char **argv)
{
	start(argc, argv, NULL);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		die("socketpair");
	spawn(server, NULL);
	spawn(client, NULL);
	ready();
	await_end();
	return done(0);
}
