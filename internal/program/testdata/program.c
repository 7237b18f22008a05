/*
 * program: prints the addresses of main and of the function that "indirect" is bound to. For each
 * line it unloads the last object, and loads the one that the line names.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int one(void) { return 1; }
static void *choose(void) { return one; }
int indirect(void) __attribute__((ifunc("choose")));

int main(void)
{
	char line[4096];
	void *loaded = NULL;

	printf("%p %p %d\n", (void *)main, (void *)one, indirect());
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (loaded != NULL)
			dlclose(loaded);
		loaded = line[0] != '\0' ? dlopen(line, RTLD_NOW) : NULL;
		puts(line[0] == '\0' || loaded != NULL ? "ok" : dlerror());
		fflush(stdout);
	}
	return 0;
}
