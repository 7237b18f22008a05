/*
 * stepping: several threads execute each of the instructions of stepping.S, as often as the first
 * argument says, while a timer sends signals. The program prints how often each was executed. It ends
 * with status 3 if something was not as it is without a tracer.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern long raw_fork(void), raw_vfork(void), raw_thread(unsigned long flags, void *stack, int *tid);
extern void restorer(void);

enum { THREADS = 3, FAULTS = 5, STACK = 32768 };

#define FAULTY(F) F(load, SIGSEGV) F(vector, SIGSEGV) F(store, SIGSEGV) F(illegal, SIGILL) F(divide, SIGFPE)
#define DECLARE(name, sig) extern const char at_##name[], after_##name[]; extern void do_##name(void *);
#define ROW(name, sig) { #name, sig, at_##name, after_##name, do_##name },
FAULTY(DECLARE)
static const struct fault {
	const char *name;
	int signal;
	const char *at, *after;
	void (*execute)(void *);
} faults[] = { FAULTY(ROW) };

static atomic_long errors, alarms, faulted, returns;
static int rounds;

static void wrong(const char *what)
{
	atomic_fetch_add(&errors, 1);
	(void)!write(2, what, strlen(what));
}

static void on_fault(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	const char *pc = (const char *)uc->uc_mcontext.gregs[REG_RIP];
	int i;

	for (i = 0; i < FAULTS && faults[i].at != pc; i++)
		;
	atomic_fetch_add(&returns, 1);
	if (i == FAULTS || sig != faults[i].signal) {
		wrong("a fault elsewhere\n");
		_exit(4);
	}
	/* the address is that of the memory, or of the instruction */
	if (si->si_addr != (sig == SIGSEGV ? NULL : (const void *)pc))
		wrong("the address of a fault\n");
	atomic_fetch_add(&faulted, 1);
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)faults[i].after;
}

static void on_alarm(int sig, siginfo_t *si, void *context)
{
	(void)sig;
	(void)context;
	if (si->si_code != SI_KERNEL)
		wrong("siginfo of the timer\n");
	atomic_fetch_add(&alarms, 1);
	atomic_fetch_add(&returns, 1);
}

/* handle: sets a handler that returns to restorer. libc's sigaction would put in its own restorer. */
static void handle(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct {
		void (*handler)(int, siginfo_t *, void *);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} sa = { handler, SA_SIGINFO | SA_RESTART | 0x04000000, restorer, 1UL << (SIGALRM - 1) };

	if (syscall(SYS_rt_sigaction, sig, &sa, NULL, 8) != 0)
		exit(2);
}

static void reap(long pid)
{
	int status;

	if (pid < 0 || waitpid((pid_t)pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
		wrong("the end of a child\n");
}

static void thread(char *stack)
{
	static const unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
					   CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
	_Atomic int alive = 1;

	if (raw_thread(flags, stack + STACK, (int *)&alive) <= 0)
		wrong("clone\n");
	while (atomic_load(&alive))
		syscall(SYS_futex, &alive, FUTEX_WAIT, 1, NULL, NULL, 0);
}

static void *work(void *arg)
{
	char *stack = aligned_alloc(4096, STACK);
	int i, k;

	for (i = 0; i < rounds; i++) {
		long pid = raw_fork();
		if (pid == 0)
			_exit(7);
		reap(pid);
		pid = raw_vfork();
		if (pid == 0)
			_exit(7);
		reap(pid);
		thread(stack);
		for (k = 0; k < FAULTS; k++)
			faults[k].execute(NULL);
	}
	free(stack);
	return arg;
}

int main(int argc, char **argv)
{
	struct itimerval on = { { 0, 2000 }, { 0, 2000 } }, off = { { 0, 0 }, { 0, 0 } };
	pthread_t t[THREADS];
	long n;
	int i;

	rounds = argc > 1 ? atoi(argv[1]) : 1;
	handle(SIGALRM, on_alarm);
	handle(SIGSEGV, on_fault);
	handle(SIGILL, on_fault);
	handle(SIGFPE, on_fault);
	setitimer(ITIMER_REAL, &on, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	setitimer(ITIMER_REAL, &off, NULL);
	n = (long)THREADS * rounds;
	if (atomic_load(&faulted) != n * FAULTS)
		wrong("the number of faults\n");
	printf("fork %ld\nvfork %ld\nclone %ld\nexit %ld\n", n, n, n, n);
	for (i = 0; i < FAULTS; i++)
		printf("%s %ld\n", faults[i].name, n);
	printf("sigreturn %ld\n", atomic_load(&returns));
	return atomic_load(&errors) ? 3 : 0;
}
