/*
 * wary: for each byte of its standard input it calls hot() 20 times and prints "turn SUM". By kind (-k)
 * it also checks its signals, or is restricted in its system calls:
 *   plain    it is not
 *   winch    has a handler of SIGWINCH and sends itself one each turn, which must come once
 *   urg      the same with SIGURG
 *   both     with both
 *   masked   blocks both, sends itself both each turn and takes them with sigtimedwait
 *   strict   seccomp, strict mode: it may only call read, write and exit
 *   filter   seccomp, with a filter that allows the calls that it needs, and kills it for any other
 * The signals are real: a signal that is lost, or not its own, is an error.
 */
#include "ptest.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { CALLS = 20, WATCHED = 2 };

static const int watched[WATCHED] = { SIGWINCH, SIGURG };
static const char *kind = "plain";
static volatile unsigned came[WATCHED];
static pid_t self;

static void extra(int letter, const char *value)
{
	if (letter == 'k')
		kind = value;
}

static int is(const char *name) { return strcmp(kind, name) == 0; }

NOINLINE uint64_t hot(uint64_t n)
{
	__asm__ volatile("" ::: "memory");
	return 3 * n + 1;
}

static void handler(int sig, siginfo_t *si, void *context UNUSED)
{
	if (si->si_code != SI_TKILL || si->si_pid != self)
		wrong("signal %d: si_code %d, from %d", sig, si->si_code, si->si_pid);
	came[sig == watched[1]]++;
}

static void handle(int sig)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };

	if (sigaction(sig, &sa, NULL) != 0)
		die("sigaction");
}

static void filter(void)
{
#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(read), ALLOW(write), ALLOW(exit), ALLOW(restart_syscall),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { .len = sizeof code / sizeof code[0], .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
		die("seccomp filter");
}

static void prepare(void)
{
	sigset_t set;

	self = getpid();
	if (is("winch") || is("both"))
		handle(SIGWINCH);
	if (is("urg") || is("both"))
		handle(SIGURG);
	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGURG);
	if (is("masked") && sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		die("sigprocmask");
	if (is("filter"))
		filter();
	if (is("strict") && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0)
		die("PR_SET_SECCOMP");
}

/* take takes a blocked signal that is pending, once. */
static void take(int sig)
{
	struct timespec none = { 0, 0 };
	siginfo_t si;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	if (sigtimedwait(&set, &si, &none) != sig || si.si_pid != self) /* glibc makes si_code SI_USER */
		wrong("signal %d is not there as it was sent", sig);
	if (sigtimedwait(&set, &si, &none) != -1)
		wrong("signal %d is there twice", sig);
}

/* signals sends this turn's signals, and checks that they come and no others do. */
static void signals(unsigned turn)
{
	int i;

	for (i = 0; i < WATCHED; i++) {
		int mine = is("both") || is(i == 0 ? "winch" : "urg");

		if (mine || is("masked"))
			raise(watched[i]);
		if (is("masked"))
			take(watched[i]);
		if (came[i] != (mine ? turn : 0))
			wrong("turn %u: %u signals %d", turn, came[i], watched[i]);
	}
}

/* say prints a word and a number with write alone. */
static void say(const char *word, uint64_t n)
{
	char line[64];
	int length = snprintf(line, sizeof line, "%s %llu\n", word, (unsigned long long)n);

	(void)!write(1, line, (size_t)length);
}

int main(int argc, char **argv)
{
	uint64_t sum, n, all = 0;
	unsigned turn = 0;
	char b;

	start(argc, argv, extra);
	prepare();
	(void)!write(1, "ready\n", 6);
	while (read(0, &b, 1) == 1) {
		for (n = sum = 0; n < CALLS; n++)
			sum += hot(n);
		signals(++turn);
		say("turn", sum);
		all += sum;
	}
	say("done", all);
	syscall(SYS_exit, atomic_load(&truth->errors) != 0 ? 3 : 0);
}
