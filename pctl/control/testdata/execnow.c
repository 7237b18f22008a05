/*
 * execnow: executes the program of its first argument when it can read a byte. If the second one is "thread", a thread that is
 * not the leader does so, which blocks SIGUSR1, and the leader executes the function walk until then. If it is "blocks", SIGWINCH
 * and SIGURG are blocked. If it is "forks", the leader forks a child when it can read a byte, the other thread executes the
 * program at the next byte, and the child calls spot: the status is 7 if it does not end well. It writes "child" then. Both programs are this source, built with -static and the section .spot at one address, the other one
 * with -DOTHER. At the address of the function spot of the first one the other one has the middle of an instruction, whose
 * constant it checks until it can read a byte: it ends with status 3 if that changes, and with 4 if it has not the signal mask of
 * the thread that has executed it, and with 8 if its cell, which walk of the first one writes, is written.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__asm__(".pushsection .spot,\"ax\",@progbits\n"
#ifdef OTHER
	".globl constant\n.type constant,@function\n"
	"constant: movabs $0x9090909090909090, %rax\n\tret\n"
	".size constant, . - constant\n"
#else
	"\tnop\n\tnop\n"
	".globl spot\n.type spot,@function\n"
	"spot: ret\n"
	".size spot, . - spot\n"
	".globl walk\n.type walk,@function\n"
	"walk: nop\n\tmov %ss, %eax\n"
	"walk_ss: mov %eax, %ss\n" /* cannot be moved elsewhere */
	"walk_store: mov %rsp, cell(%rip)\n"
	"\tret\n"
	".size walk, . - walk\n"
#endif
	".popsection\n"
	".pushsection .cell,\"aw\",@progbits\n\t.globl cell\ncell: .quad 0\n\t.popsection\n");

static int is(int argc, char **argv, const char *what)
{
	return argc > 2 && strcmp(argv[2], what) == 0;
}

#ifdef OTHER
unsigned long constant(void);
extern volatile unsigned long cell;

int main(int argc, char **argv)
{
	struct pollfd in = { 0, POLLIN, 0 };
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	if (sigismember(&mask, SIGUSR1) != is(argc, argv, "thread"))
		return 4;
	do
		if (constant() != 0x9090909090909090)
			return 3;
	while (poll(&in, 1, 0) == 0);
	if (cell != 0)
		return 8;
	if (is(argc, argv, "forks")) {
		int status;

		if (wait(&status) < 0 || status != 0)
			return 7;
	}
	return 0;
}
#else
void spot(void), walk(void);

static volatile int forked = 1;

static void *execute(void *argv)
{
	char b;

	while (!forked)
		;
	if (read(0, &b, 1) == 1)
		execv(((char **)argv)[1], argv);
	exit(5);
}

int main(int argc, char **argv)
{
	pthread_t t;
	sigset_t usr1, probes;
	char b;

	spot();
	if (is(argc, argv, "blocks")) {
		sigemptyset(&probes);
		sigaddset(&probes, SIGWINCH);
		sigaddset(&probes, SIGURG);
		sigprocmask(SIG_BLOCK, &probes, NULL);
	}
	if (is(argc, argv, "thread")) {
		sigemptyset(&usr1);
		sigaddset(&usr1, SIGUSR1);
		pthread_sigmask(SIG_BLOCK, &usr1, NULL);
		pthread_create(&t, NULL, execute, argv);
		pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	}
	if (is(argc, argv, "forks")) {
		forked = 0;
		pthread_create(&t, NULL, execute, argv);
	}
	puts("ready");
	fflush(stdout);
	if (is(argc, argv, "forks")) {
		if (read(0, &b, 1) != 1)
			return 6;
		forked = 1;
		if (fork() == 0) {
			spot();
			_exit(write(1, "child\n", 6) != 6);
		}
		for (;;)
			pause();
	}
	if (!is(argc, argv, "thread"))
		execute(argv);
	for (;;)
		walk();
}
#endif
