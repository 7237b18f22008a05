/*
 * places: has -t threads. The first waits for the end of standard input, and the others wait as those of
 * idle do. Its text has 1,000 functions of 3 bytes each, which are never called. The first of them is named
 * places.
 */
#include "ptest.h"
#include "idle.h"

__asm__(".text\n"
	".globl places\n"
	".type places, @function\n"
	"places:\n"
#if defined(__x86_64__)
	".rept 1000\n"
	"push %rbp\n"
	"pop %rbp\n"
	"ret\n"
	".endr\n"
#endif
	".size places, . - places\n");

int main(int argc, char **argv)
{
	start(argc, argv, NULL);
	if (threads > 1)
		idle_start(threads - 1);
	ready();
	await_end();
	return done((uint64_t)threads);
}
