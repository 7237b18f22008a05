/* ctors: prints from a constructor, from main and from a destructor. */
#include "ptest.h"

__attribute__((constructor)) static void before(void)
{
	puts("constructor");
	fflush(stdout);
}

__attribute__((destructor)) static void after(void)
{
	puts("destructor");
	fflush(stdout);
}

int main(void)
{
	puts("main");
	fflush(stdout);
	return 7;
}
