/*
 * endtogether: when the process ends it has two running threads and much memory. The thread that leaves the memory last
 * gives it back, which takes longer than the other's end.
 */
#include "ptest.h"
#include <string.h>
#include <sys/mman.h>

#define MEMORY (192 << 20)

static volatile uint64_t sum;

static void *spin(void *arg)
{
	for (;;)
		sum++;
	return arg;
}

int main(void)
{
	char *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	if (memory == MAP_FAILED)
		die("mmap");
	memset(memory, 1, MEMORY);
	spawn(spin, NULL);
	for (i = 0; i < 20000000; i++)
		sum++;
	exit(0);
}
