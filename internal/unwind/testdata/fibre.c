// Fibres: main > rounds resumes fibres on stacks of their own, by swapcontext, and by an
// assembler switch that has no description. Both call outer > inner > work, and leave
// inner by longjmp now and then.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))
#define STACK (64 << 10)

volatile unsigned long sink;
static ucontext_t home, away;
static void *here, *there; // stack pointers of the assembler switch
static jmp_buf back;

NOINLINE void work(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
	sink++;
}

NOINLINE void inner(int n)
{
	work(300);
	if (n % 4 == 0)
		longjmp(back, 1);
	sink++;
}

NOINLINE void outer(int n)
{
	if (setjmp(back) == 0)
		inner(n);
	sink++;
}

// Saves what a callee must keep, exchanges stacks, returns on the other one.
void exchange(void **save, void *load);
__asm__(".text\n"
	".globl exchange\n"
	".type exchange, @function\n"
	"exchange:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	ret\n"
	".size exchange, .-exchange\n");

NOINLINE void fibre(void)
{
	for (int n = 0;; n++) {
		outer(n);
		swapcontext(&away, &home);
	}
}

NOINLINE void strand(void)
{
	for (int n = 0;; n++) {
		outer(n);
		exchange(&there, here);
	}
}

NOINLINE void rounds(void)
{
	for (int i = 0; i < 100; i++) {
		swapcontext(&home, &away);
		exchange(&here, there);
	}
	sink++;
}

int main(void)
{
	getcontext(&away);
	away.uc_stack.ss_sp = malloc(STACK);
	away.uc_stack.ss_size = STACK;
	makecontext(&away, fibre, 0);
	void **top = (void **)((char *)malloc(STACK) + STACK - 64);
	*top = strand; // and above it the zero of its return address
	top[1] = 0;
	there = top - 6;
	puts("ready");
	fflush(stdout);
	for (;;)
		rounds();
}
