/*
 * reuse: makes a child that burns in alpha, and prints its number. At a line of input it kills the child, and gives the number
 * to another child, which burns in impostor. It prints "reused", or "refused" if it may not do that.
 */
#define _GNU_SOURCE
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long turns;

__attribute__((noinline, noclone)) static void alpha(void)
{
	for (int i = 0; i < 100000; i++)
		turns++;
}

__attribute__((noinline, noclone)) static void impostor(void)
{
	for (int i = 0; i < 100000; i++)
		turns += 2;
}

static void burn(void (*in)(void))
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		in();
}

int main(void)
{
	pid_t pid = fork(), number = pid;
	struct clone_args args = { .set_tid = (unsigned long)&number, .set_tid_size = 1, .exit_signal = SIGCHLD };
	long other;

	if (pid == 0)
		burn(alpha);
	printf("%d\n", pid);
	fflush(stdout);
	getchar();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if ((other = syscall(SYS_clone3, &args, sizeof args)) == 0)
		burn(impostor);
	puts(other == pid ? "reused" : "refused");
	fflush(stdout);
	getchar();
	if (other > 0) {
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
	}
}
