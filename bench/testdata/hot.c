/*
 * hot: -t threads that call one function, -f NAME, again and again and count their calls, until
 * standard input ends. f_push begins with what can be emulated, f_displaced with what has to run
 * somewhere else; slot_displaced is a copy of that instruction that goes on behind the original. In
 * f_endbr and f_mov what can be emulated comes second.
 */
#include "ptest.h"

__asm__(".text\n"
	".globl f_push, f_displaced, slot_displaced\n"
	".type f_push, @function\n"
	"f_push: push %rbp; mov %rsp, %rbp; lea 1(%rdi), %rax; pop %rbp; ret\n"
	".size f_push, . - f_push\n"
	".type f_displaced, @function\n"
	"f_displaced: imul $3, %rdi, %rax\n"
	"behind: ret\n"
	".size f_displaced, . - f_displaced\n"
	".type slot_displaced, @function\n"
	"slot_displaced: imul $3, %rdi, %rax; jmp behind\n"
	".size slot_displaced, . - slot_displaced\n"
	".globl f_endbr, f_mov\n"
	".type f_endbr, @function\n"
	"f_endbr: endbr64; push %rbp; mov %rsp, %rbp; lea 1(%rdi), %rax; pop %rbp; ret\n"
	".size f_endbr, . - f_endbr\n"
	".type f_mov, @function\n"
	"f_mov: mov %rdi, %rax; push %rbx; lea 1(%rax), %rax; pop %rbx; ret\n"
	".size f_mov, . - f_mov\n");

long f_push(long);
long f_displaced(long);
long f_endbr(long);
long f_mov(long);

static long (*f)(long) = f_push;

static void *call(void *arg)
{
	long x = (long)(uintptr_t)arg;

	for (;;) {
		x = f(x);
		atomic_fetch_add(&truth->work, 1);
	}
	return NULL;
}

static void extra(int letter, const char *value)
{
	if (letter != 'f')
		return;
	if (strcmp(value, "f_displaced") == 0)
		f = f_displaced;
	else if (strcmp(value, "f_endbr") == 0)
		f = f_endbr;
	else if (strcmp(value, "f_mov") == 0)
		f = f_mov;
}

int main(int argc, char **argv)
{
	int i;

	start(argc, argv, extra);
	for (i = 0; i < threads; i++)
		spawn(call, (void *)(uintptr_t)i);
	ready();
	await_end();
	return done(0);
}
