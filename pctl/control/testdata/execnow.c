/*
 * execnow: executes the program of its first argument when it can read a byte. Both are this source, built with -static and
 * the section .spot at one address, the other one with -DOTHER. At the address of the function spot of the first one the
 * other one has the middle of an instruction, whose constant it checks until it can read a byte: it ends with status 3 if that
 * changes.
 */
#include <poll.h>
#include <stdio.h>
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
#endif
	".popsection\n");

#ifdef OTHER
unsigned long constant(void);

int main(void)
{
	struct pollfd in = { 0, POLLIN, 0 };

	do
		if (constant() != 0x9090909090909090)
			return 3;
	while (poll(&in, 1, 0) == 0);
	return 0;
}
#else
void spot(void);

int main(int argc, char **argv)
{
	char b;

	spot();
	puts("ready");
	fflush(stdout);
	if (read(0, &b, 1) != 1)
		return 4;
	execv(argv[1], argv);
	return 5;
}
#endif
