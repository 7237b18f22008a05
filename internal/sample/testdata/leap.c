/*
 * leap: executes another program made of this file, which executes the first again, for ever. Both are linked for fixed
 * addresses. Where the program made with LEAP has the function that calls execve(2), the other one has innocent, which never
 * runs. The arguments are the path of this program, of the other one, and of this one again. The first one prints "ready".
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#ifdef LEAP
#define NAME "leap"
#ifdef __aarch64__
#define BODY "mov x8, 221\n\tsvc 0\n\tret\n\t"
#else
#define BODY "mov $59, %eax\n\tsyscall\n\tret\n\t"
#endif
#else
#define NAME "innocent"
#define BODY ".skip 64, 0\n\t"
#endif

__asm__(".pushsection .fixed,\"ax\"\n\t.globl " NAME "\n\t.type " NAME ", %function\n" NAME ":\n\t.cfi_startproc\n\t" BODY
	".cfi_endproc\n\t.size " NAME ", .-" NAME "\n\t.popsection\n");

extern long leap(const char *, char **, char **);

static volatile unsigned long turns;

__attribute__((noinline, noclone)) static void spin(void)
{
	for (int i = 0; i < 10000; i++)
		turns++;
}

enum { ARGS = 20000 }; /* the kernel walks through them when it has mapped the program */

int main(int argc, char **argv)
{
	static char *args[ARGS + 1];

	if (argc == 3) {
		puts("ready");
		fflush(stdout);
	}
	for (clock_t end = clock() + 2000; clock() < end;)
		spin();
	args[0] = argv[1];
	args[1] = argv[2];
	args[2] = argv[1];
	for (int i = 3; i < ARGS; i++)
		args[i] = "x";
#ifdef LEAP
	leap(argv[1], args, (char *[]){ 0 });
#else
	execv(argv[1], args);
#endif
	return 1;
}
