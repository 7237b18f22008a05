/*
 * program: prints main's address. Then it executes the commands on standard input, and prints one line
 * for each:
 *   open PATH   dlopen:  the address of the link map
 *   mopen PATH  dlmopen into a new namespace: the address of the link map (glibc, -DNAMESPACES)
 *   close       dlclose of the object opened last: ok
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#ifndef STATIC
#include <dlfcn.h>
#endif

int main(void)
{
	char line[4096];
	void *open[16];
	int n = 0;

	printf("main %p\n", (void *)main);
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL) {
		char *path = strchr(line, ' ');

		line[strcspn(line, "\n")] = '\0';
		if (n > 15)
			return 3;
#ifndef STATIC
		if (strncmp(line, "open ", 5) == 0)
			open[n++] = dlopen(path + 1, RTLD_NOW);
#ifdef NAMESPACES
		else if (strncmp(line, "mopen ", 6) == 0)
			open[n++] = dlmopen(LM_ID_NEWLM, path + 1, RTLD_NOW);
#endif
		else if (strcmp(line, "close") == 0 && n > 0) {
			dlclose(open[--n]);
			puts("ok");
			fflush(stdout);
			continue;
		}
		if (n > 0 && open[n - 1] == NULL)
			fprintf(stderr, "%s\n", dlerror());
#else
		open[n++] = path;
#endif
		printf("%p\n", n > 0 ? open[n - 1] : NULL); /* a handle is the link map */
		fflush(stdout);
	}
	return 0;
}
