// Code made at run time that was jumped to, keeps its values in a frame of its own, calls C
// functions, and never returns, as the machine code of traces does. Nothing leads from it to the
// function that entered it but the return address above its frame. Below that there are return
// addresses of earlier calls.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile unsigned long sink;

NOINLINE void work(void)
{
	for (int i = 0; i < 200; i++)
		sink = sink * 31 + i;
}

// Leaves its own return address, and that of its caller, where the frame of the trace will be.
NOINLINE void litter(int depth)
{
	volatile char room[24];
	room[depth] = 0;
	if (depth > 0)
		litter(depth - 1);
	sink += room[depth];
}

void enter(void *trace, void (*work)(void));
__asm__(".globl enter\n"
	".type enter, @function\n"
	"enter:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset 6, -16\n"
	"	push %rbx\n"
	".cfi_def_cfa_offset 24\n"
	".cfi_offset 3, -24\n"
	"	mov %rsi, %rbx\n"
	"	xor %ebp, %ebp\n"
	"	jmp *%rdi\n"
	".cfi_endproc\n"
	".size enter, .-enter\n");

NOINLINE void inner(void *trace)
{
	litter(20);
	enter(trace, work);
	sink++;
}

NOINLINE void outer(void *trace)
{
	inner(trace);
	sink++;
}

int main(void)
{
	static const unsigned char trace[] = {
		0x48, 0x81, 0xec, 0x98, 0x00, 0x00, 0x00, // sub $0x98,%rsp
		0xff, 0xd3,                               // call *%rbx
		0xff, 0xc5,                               // inc %ebp
		0xeb, 0xfa,                               // jmp the call
	};
	void *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		exit(1);
	memcpy(p, trace, sizeof trace);
	puts("ready");
	fflush(stdout);
	outer(p);
}
