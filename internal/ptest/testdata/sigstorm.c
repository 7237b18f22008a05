/*
 * sigstorm: four threads, each of which gets -n signals of its own kind and counts all of them. The
 * page's kinds 0 to 3 have the counts:
 *   0  SIGUSR1 by tgkill, the next one sent when the last one was handled
 *   1  a real-time signal by sigqueue, as fast as the queue takes them; payloads must come in order
 *   2  SIGALRM of a one-shot itimer
 *   3  SIGCHLD, with the child's pid and status in siginfo
 * A lost signal makes it hang. One too many, or a wrong sender, code, payload or order is an error.
 */
#include "ptest.h"
#include "children.h"
#include <semaphore.h>
#include <sys/time.h>

static sem_t handled[4];
static _Atomic uint64_t seen[4];
static _Atomic int child_pid, child_code;
static int finish[2]; /* the receiver of kind 1 reads it until its end */

static void account(int kind)
{
	atomic_fetch_add(&seen[kind], 1);
	atomic_fetch_add(&truth->kind[kind], 1);
	atomic_fetch_add(&truth->signals, 1);
	atomic_fetch_add(&truth->work, 1);
	sem_post(&handled[kind]);
}

static void bad(const char *what)
{
	atomic_fetch_add(&truth->errors, 1);
	(void)!write(2, what, strlen(what));
}

static void on_usr1(int sig UNUSED, siginfo_t *si, void *uc UNUSED)
{
	if (si->si_code != SI_TKILL || si->si_pid != getpid())
		bad("tgkill: siginfo\n");
	account(0);
}

static void on_queue(int sig UNUSED, siginfo_t *si, void *uc UNUSED)
{
	if (si->si_code != SI_QUEUE || si->si_pid != getpid())
		bad("sigqueue: siginfo\n");
	if ((uint64_t)(unsigned)si->si_value.sival_int != (unsigned)atomic_load(&seen[1]))
		bad("sigqueue: out of order\n");
	account(1);
}

static void on_alarm(int sig UNUSED, siginfo_t *si, void *uc UNUSED)
{
	if (si->si_code != SI_KERNEL)
		bad("itimer: siginfo\n");
	account(2);
}

static void on_child(int sig UNUSED, siginfo_t *si, void *uc UNUSED)
{
	if (si->si_code != CLD_EXITED || si->si_pid != atomic_load(&child_pid) || si->si_status != atomic_load(&child_code))
		bad("SIGCHLD: siginfo\n");
	account(3);
}

static void await(int kind)
{
	while (sem_wait(&handled[kind]) != 0)
		if (errno != EINTR)
			die("sem_wait");
}

static void unblock(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void *receive_queue(void *arg)
{
	char b;

	unblock(SIGRTMIN + 3);
	while (read(finish[0], &b, 1) != 0)
		if (errno != EINTR)
			die("read");
	return arg;
}

static void *run_usr1(void *arg)
{
	uint64_t n;

	unblock(SIGUSR1);
	for (n = 0; more(n); n++) {
		if (syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1) != 0)
			die("tgkill");
		await(0);
	}
	(void)arg;
	return (void *)(uintptr_t)n;
}

/* Sends to a thread that blocks in read meanwhile. */
static void *run_queue(void *arg)
{
	pthread_t to = *(pthread_t *)arg;
	uint64_t n, got = 0;

	for (n = 0; more(n); n++) {
		union sigval v = { .sival_int = (int)n };
		int err;

		while ((err = pthread_sigqueue(to, SIGRTMIN + 3, v)) == EAGAIN)
			await(1), got++;
		if (err != 0) {
			errno = err;
			die("pthread_sigqueue");
		}
	}
	for (; got < n; got++)
		await(1);
	return (void *)(uintptr_t)n;
}

static void *run_alarm(void *arg)
{
	struct itimerval once = { .it_value = { .tv_usec = 100 } };
	uint64_t n;

	unblock(SIGALRM);
	for (n = 0; more(n); n++) {
		if (setitimer(ITIMER_REAL, &once, NULL) != 0)
			die("setitimer");
		await(2);
	}
	(void)arg;
	return (void *)(uintptr_t)n;
}

static void *run_child(void *arg)
{
	uint64_t n;
	int go[2];

	unblock(SIGCHLD);
	for (n = 0; more(n); n++) {
		int code = (int)(n % 60);
		pid_t pid;

		if (pipe2(go, O_CLOEXEC) != 0)
			die("pipe2");
		atomic_store(&child_code, code);
		if ((pid = fork()) == 0) {
			char b;

			(void)!read(go[0], &b, 1); /* until the handler can know our number */
			_exit(code);
		}
		if (pid < 0)
			die("fork");
		atomic_store(&child_pid, pid);
		(void)!write(go[1], "", 1);
		await(3);
		close(go[0]);
		close(go[1]);
		reap(pid, code);
	}
	(void)arg;
	return (void *)(uintptr_t)n;
}

static void handle(int sig, void (*f)(int, siginfo_t *, void *))
{
	struct sigaction sa = { .sa_sigaction = f, .sa_flags = SA_SIGINFO | SA_RESTART };

	if (sigaction(sig, &sa, NULL) != 0)
		die("sigaction");
}

int main(int argc, char **argv)
{
	static void *(*const run[4])(void *) = { run_usr1, run_queue, run_alarm, run_child };
	pthread_t t[4], to;
	uint64_t sum = 0;
	sigset_t all;
	int i;

	start(argc, argv, NULL);
	for (i = 0; i < 4; i++)
		sem_init(&handled[i], 0, 0);
	handle(SIGUSR1, on_usr1);
	handle(SIGRTMIN + 3, on_queue);
	handle(SIGALRM, on_alarm);
	handle(SIGCHLD, on_child);
	sigemptyset(&all);
	sigaddset(&all, SIGUSR1);
	sigaddset(&all, SIGRTMIN + 3);
	sigaddset(&all, SIGALRM);
	sigaddset(&all, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	if (pipe2(finish, O_CLOEXEC) != 0)
		die("pipe2");
	to = spawn(receive_queue, NULL);
	ready();
	for (i = 0; i < 4; i++)
		t[i] = spawn(run[i], &to);
	for (i = 0; i < 4; i++) {
		void *n;

		pthread_join(t[i], &n);
		sum += (uintptr_t)n;
		if (atomic_load(&seen[i]) != (uintptr_t)n)
			wrong("kind %d: %llu handled, %llu sent", i, (unsigned long long)seen[i], (unsigned long long)(uintptr_t)n);
	}
	close(finish[1]);
	pthread_join(to, NULL);
	return done(sum);
}
