/*
 * groupstop: -t threads spin. SIGCONT has a handler; the page counts its calls as signals. With -n the
 * program stops itself by SIGSTOP that many times, and a child of it sends it SIGCONT until it says that
 * it runs again.
 */
#include "ptest.h"
#include "burn.h"
#include <signal.h>
#include <sys/wait.h>

static _Atomic int stop;

static void on_cont(int sig UNUSED) { atomic_fetch_add(&truth->signals, 1); }

static void *spin(void *arg)
{
	uint64_t x = 1, last = now();

	while (!atomic_load(&stop)) {
		uint64_t t;

		x = burn(x, 10);
		t = now();
		raise_to(&truth->gap, t - last);
		last = t;
		atomic_fetch_add(&truth->work, 1);
	}
	return arg;
}

/* Answers each byte on asked with SIGCONTs until the next byte comes. */
static void continuer(pid_t parent, int asked)
{
	struct pollfd p = { .fd = asked, .events = POLLIN };
	char b;

	while (read(asked, &b, 1) == 1) { /* about to stop */
		do
			kill(parent, SIGCONT);
		while (poll(&p, 1, 1) == 0);
		if (read(asked, &b, 1) != 1) /* runs again */
			break;
	}
	_exit(0);
}

static void stop_and_go(void)
{
	pid_t pid, parent = getpid();
	int fd[2], status;
	uint64_t n;

	if (pipe(fd) != 0)
		die("pipe");
	if ((pid = fork()) == 0) {
		close(fd[1]);
		continuer(parent, fd[0]);
	}
	for (n = 0; n < count; n++) {
		uint64_t before = atomic_load(&truth->signals);

		(void)!write(fd[1], "s", 1);
		kill(getpid(), SIGSTOP);
		while (atomic_load(&truth->signals) == before)
			sched_yield();
		(void)!write(fd[1], "r", 1);
	}
	close(fd[1]);
	waitpid(pid, &status, 0);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_cont, .sa_flags = SA_RESTART };
	pthread_t t[64];
	int i;

	start(argc, argv, NULL);
	if (sigaction(SIGCONT, &sa, NULL) != 0)
		die("sigaction");
	if (threads > 64)
		threads = 64;
	for (i = 0; i < threads; i++)
		t[i] = spawn(spin, NULL);
	ready();
	if (count == 0)
		await_end();
	else
		stop_and_go();
	atomic_store(&stop, 1);
	for (i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	return done(count);
}
