/*
 * redzone: each line of its input is a number, and it calls probed() that often. It prints in how many
 * calls a word below the stack pointer lost its value over the nop of five bytes at probed_nop. That
 * word belongs to the function.
 */
#include <stdint.h>
#include <stdio.h>

uint64_t probed(uint64_t);

__asm__(".text\n"
	".globl probed\n"
	".type probed, @function\n"
	"probed:\n"
	"	movq %rdi, -8(%rsp)\n"
	".globl probed_nop\n"
	"probed_nop:\n"
	"	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"	movq -8(%rsp), %rax\n"
	"	ret\n"
	".size probed, . - probed\n");

int main(void)
{
	unsigned long n;

	puts("ready");
	fflush(stdout);
	while (scanf("%lu", &n) == 1) {
		unsigned long i, lost = 0;

		for (i = 0; i < n; i++)
			lost += probed(i) != i;
		printf("%lu\n", lost);
		fflush(stdout);
	}
	return 0;
}
