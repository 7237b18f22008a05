/* realigned: stops in a function that is called through assembler which loses the stack pointer, and keeps no frame pointer. */
#include <signal.h>

#define NOINLINE __attribute__((noinline, noclone))

__asm__(".text\n\t.globl aligned\n\t.type aligned, @function\naligned:\n\t"
	"push %rbx\n\tmov %rsp, %rbx\n\tand $-64, %rsp\n\tsub $128, %rsp\n\tcall work\n\tmov %rbx, %rsp\n\tpop %rbx\n\tret\n\t"
	".size aligned, .-aligned");

extern long aligned(void);
volatile long sink;

NOINLINE long work(void)
{
	raise(SIGSTOP);
	return ++sink;
}

NOINLINE long inner(void)
{
	return aligned() + 1;
}

NOINLINE long outer(void)
{
	return inner() + 1;
}

int main(void)
{
	return outer() == 0;
}
