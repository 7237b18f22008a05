/*
 * ifunc: calls indirect functions (STT_GNU_IFUNC), libc's and one of its own, as often as its first
 * argument says. It prints the address that it has given to each of them. Without a second argument it
 * first prints "ready" and reads a line.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char from[4096], to[4096];
static volatile size_t sink;

static size_t implementation(const void *p) { return (uintptr_t)p & 15; }

static void *choose(void) { return (void *)implementation; }

size_t indirect(const void *p) __attribute__((ifunc("choose")));

int main(int argc, char **argv)
{
	int i, n = argc > 1 ? atoi(argv[1]) : 1;
	char line[16];

	memset(from, 'x', sizeof from - 1);
	if (argc < 3) {
		puts("ready");
		fflush(stdout);
		if (fgets(line, sizeof line, stdin) == NULL)
			return 2;
	}
	for (i = 0; i < n; i++) {
		sink = strlen(from + 1);
		memcpy(to + 1, from, sizeof from - 1);
		sink = indirect(to + 2);
	}
	printf("strlen %p\nmemcpy %p\nindirect %p\n", (void *)(from + 1), (void *)(to + 1), (void *)(to + 2));
	return 0;
}
