/*
 * blockers: has a thread for each kind of blocking call, which makes the call -n times (0: until standard
 * input ends). Some calls end by their timeout of 20 ms, the others are woken every few milliseconds. It
 * counts EINTRs, in all and by kind (the page's kinds), and how much longer than its timeout a timed call
 * took (stretch, the shares by kind). A program that is left alone sees no EINTR. With -k NAME only that
 * kind runs; with -x PREFIX kinds that begin with it do not. The checksum is the number of kinds times n;
 * kinds that saw an EINTR are printed before it.
 */
#include "ptest.h"
#include "blockers.h"
#include "blockers_timed.h"
#include "blockers_woken.h"
#include <sched.h>

static const struct way ways[] = {
	{ "epoll_wait", prepare_epoll, call_epoll_wait, NULL, 1 },
	{ "epoll_pwait", prepare_epoll, call_epoll_pwait, NULL, 1 },
	{ "poll", prepare_pipe, call_poll, NULL, 1 },
	{ "ppoll", prepare_pipe, call_ppoll, NULL, 1 },
	{ "select", prepare_pipe, call_select, NULL, 1 },
	{ "pselect", prepare_pipe, call_pselect, NULL, 1 },
	{ "recv SO_RCVTIMEO", prepare_rcvtimeo, call_recv_timed, NULL, 1 },
	{ "futex timed", NULL, call_futex_timed, NULL, 1 },
	{ "futex until", NULL, call_futex_until, NULL, 1 },
	{ "nanosleep", NULL, call_nanosleep, NULL, 1 },
	{ "clock_nanosleep", NULL, call_clock_nanosleep, NULL, 1 },
	{ "semtimedop", prepare_sem, call_semtimedop, NULL, 1 },
	{ "mq_timedreceive", prepare_mq, call_mq_timedreceive, NULL, 1 },
	{ "sigtimedwait", NULL, call_sigtimedwait, NULL, 1 },
	{ "io_getevents", prepare_aio, call_io_getevents, NULL, 1 },
	{ "read timerfd", prepare_timerfd, call_read, NULL, 0 },
	{ "wait4", NULL, call_wait4, NULL, 0 },
	{ "waitid", NULL, call_waitid, NULL, 0 },
	{ "fcntl F_SETLKW", prepare_posix_lock, call_posix_lock, NULL, 0 },
	{ "poll for ever", prepare_sockets, call_poll_for_ever, wake_write, 0 },
	{ "recvfrom", prepare_sockets, call_recvfrom, wake_write, 0 },
	{ "recvmsg", prepare_sockets, call_recvmsg, wake_write, 0 },
	{ "accept", prepare_listener, call_accept, wake_connect, 0 },
	{ "connect", prepare_full_listener, call_connect, wake_accept, 0 },
	{ "read pipe", prepare_woken_pipe, call_read, wake_write, 0 },
	{ "read eventfd", prepare_eventfd, call_read, wake_eventfd, 0 },
	{ "read signalfd", prepare_signalfd, call_read, wake_usr2, 0 },
	{ "read inotify", prepare_inotify, call_read, wake_modify, 0 },
	{ "write pipe", prepare_full_pipe, call_write_full, wake_drain, 0 },
	{ "write socket", prepare_full_socket, call_write_full, wake_drain, 0 },
	{ "futex", NULL, call_futex, wake_futex, 0 },
	{ "semop", prepare_sem, call_semop, wake_semop, 0 },
	{ "msgrcv", prepare_msg, call_msgrcv, wake_msgsnd, 0 },
	{ "msgsnd", prepare_msg, call_msgsnd, wake_msgrcv, 0 },
	{ "sigwaitinfo", NULL, call_sigwaitinfo, wake_rt, 0 },
	{ "flock", prepare_flock, call_flock, wake_flock, 0 },
	{ "fcntl F_OFD_SETLKW", prepare_ofd_lock, call_ofd_lock, wake_ofd_lock, 0 },
	{ "open fifo", prepare_fifo, call_open_fifo, wake_open_fifo, 0 },
};

enum { NWAYS = sizeof ways / sizeof ways[0] };
_Static_assert((int)NWAYS <= (int)SHARES && (int)NWAYS <= (int)KINDS, "the page holds all kinds");

static struct blocker blockers[NWAYS];
static const char *only;
static const char *without[4]; /* the last ones that were given */
static _Atomic int stop;
static pthread_barrier_t prepared;

/* Errors that only say that the time was up. */
static int timed_out(int err) { return err == EAGAIN || err == ETIMEDOUT; }

static void one_call(struct blocker *b)
{
	uint64_t began = now(), took;
	int r = b->way->call(b), err = errno;

	took = now() - began;
	if (r < 0 && err == EINTR) {
		atomic_fetch_add(&truth->eintr, 1);
		atomic_fetch_add(&truth->kind[b->index], 1);
		return;
	}
	if (r < 0 && !(b->way->timed && timed_out(err)))
		wrong("%s: %s", b->way->name, strerror(err));
	if (!b->way->timed)
		return;
	/* Poll counts in milliseconds. Socket timeouts count scheduler ticks. A guest that was kept from its
	 * processor gets several of them at once, so such a timeout is wrong only if it is far too early. */
	if (took + (strstr(b->way->name, "TIMEO") != NULL ? timeout_ns * 3 / 4 : 1000000) < timeout_ns)
		wrong("%s: returned after %llu ns", b->way->name, (unsigned long long)took);
	if (took > timeout_ns) {
		raise_to(&truth->stretch, took - timeout_ns);
		raise_to(&truth->share[b->index], took - timeout_ns);
	}
}

static void *block(void *arg)
{
	struct blocker *b = arg;
	uint64_t n;

	b->tid = (pid_t)syscall(SYS_gettid);
	if (b->way->prepare != NULL)
		b->way->prepare(b);
	pthread_barrier_wait(&prepared);
	for (n = 0; count == 0 ? !atomic_load(&stop) : n < count; n++) {
		one_call(b);
		atomic_fetch_add(&truth->work, 1);
	}
	atomic_store(&b->ended, 1);
	return NULL;
}

/* Wakes the calls that have to be woken, until all threads have ended. */
static void wake_all(void)
{
	const struct timespec pause = { .tv_nsec = 3000000 };
	int left, i;

	do {
		nanosleep(&pause, NULL);
		if (count == 0 && over())
			atomic_store(&stop, 1);
		for (left = i = 0; i < NWAYS; i++) {
			struct blocker *b = &blockers[i];

			if (b->way == NULL || atomic_load(&b->ended))
				continue;
			left++;
			if (b->way->wake != NULL)
				b->way->wake(b);
		}
	} while (left > 0);
}

static void extra(int letter, const char *value)
{
	if (letter == 'k')
		only = value;
	if (letter == 'x') {
		memmove(without + 1, without, sizeof without - sizeof without[0]);
		without[0] = value;
	}
}

static int selected(int i)
{
	for (size_t x = 0; x < sizeof without / sizeof without[0]; x++)
		if (without[x] != NULL && strncmp(without[x], ways[i].name, strlen(without[x])) == 0)
			return 0;
	return only == NULL || strcmp(only, ways[i].name) == 0;
}

int main(int argc, char **argv)
{
	pthread_t t[NWAYS];
	sigset_t set;
	int i, n = 0;

	start(argc, argv, extra);
	/* Objects of System V IPC vanish with a namespace, even if we are killed. Without the right to a
	 * namespace they are removed at the end. */
	(void)!unshare(CLONE_NEWIPC);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN + 5);
	sigaddset(&set, SIGRTMIN + 6);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < NWAYS; i++)
		n += selected(i);
	pthread_barrier_init(&prepared, NULL, (unsigned)n + 1);
	for (i = 0; i < NWAYS; i++)
		if (selected(i)) {
			blockers[i].way = &ways[i];
			blockers[i].index = i;
			t[i] = spawn(block, &blockers[i]);
		}
	pthread_barrier_wait(&prepared);
	ready();
	wake_all();
	for (i = 0; i < NWAYS; i++) {
		if (blockers[i].way == NULL)
			continue;
		pthread_join(t[i], NULL);
		if (truth->kind[i] > 0)
			printf("eintr %s %llu\n", ways[i].name, (unsigned long long)truth->kind[i]);
		if (ways[i].prepare == prepare_sem)
			semctl(blockers[i].fd[0], 0, IPC_RMID);
		if (ways[i].prepare == prepare_msg)
			msgctl(blockers[i].fd[0], IPC_RMID, NULL);
	}
	return done((uint64_t)n * count);
}
