/*
 * lone: the first thread, the walker, walks a ring of a few instructions and counts its rounds. Each
 * round has a copy by a repeated instruction, and a system call. A second thread counts by itself, and a
 * third one reads standard input. The handler of SIGUSR1 counts the signals. At a byte on standard input
 * the walker prints and checks its counts. The status is 3 if a round was lost or made twice.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

volatile long rounds, moved, signals, others;
static atomic_int ending;

/* ring: one round; the instructions between ring and ring_end are each executed once. */
extern void ring(void);
__asm__(".text\n.globl ring, ring_inc, ring_copy, ring_call, ring_end\n.type ring, @function\n"
	"ring: pushq %rbx\n"
	"ring_inc: incq rounds(%rip)\n"
	"leaq from(%rip), %rsi\n"
	"leaq to(%rip), %rdi\n"
	"movl $8, %ecx\n"
	"ring_copy: rep movsb\n"
	"addq $8, moved(%rip)\n"
	"movl $39, %eax\n" /* getpid */
	"ring_call: syscall\n"
	"popq %rbx\n"
	"ring_end: ret\n.size ring, .-ring\n"
	".data\nfrom: .quad 1\nto: .quad 0\n.text\n");

static void count(int sig) { (void)sig; signals++; }

static void *other(void *p)
{
	for (; !atomic_load(&ending); others++)
		;
	return p;
}

static void *reader(void *p)
{
	char c;
	(void)!read(0, &c, 1);
	atomic_store(&ending, 1);
	return p;
}

int main(void)
{
	pthread_t a, b;
	sigset_t usr1;

	signal(SIGUSR1, count);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	pthread_create(&a, NULL, other, NULL);
	pthread_create(&b, NULL, reader, NULL);
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	puts("ready");
	fflush(stdout);
	long n = 0;
	for (; !atomic_load(&ending); n++)
		ring();
	printf("%ld rounds, %ld signals\n", rounds, signals);
	return n == rounds && moved == 8 * rounds ? 0 : 3;
}
