/*
 * called: for each number that it reads it calls its functions as often and prints the number. "exec" executes the program anew.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone, noipa))

enum color { RED, GREEN = 200 };
struct pair { int a; short b; };

KEEP int mixed(int n, const char *text, unsigned char small, enum color c, struct pair *p) { return -n; }
KEEP const char *named(struct pair p, _Bool yes) { return yes ? "a result" : NULL; }
KEEP void twice(int n, struct pair *p) { mixed(n, "within", 255, RED, p); __asm__ volatile("" ::: "memory"); }

static struct pair pair = { 7, -8 };

int main(int argc, char **argv)
{
	char line[100];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		if (strcmp(line, "exec\n") == 0)
			execv("/proc/self/exe", argv);
		for (int i = 0; i < atoi(line); i++) {
			mixed(i, "a text\n", 200, GREEN, &pair);
			named(pair, 1);
			twice(i, &pair);
		}
		fputs(line, stdout);
		fflush(stdout);
	}
}
