// Loads the library of its argument into two name spaces, printing where its function is, and again
// for every line on its standard input from a file of that name.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void load(Lmid_t ns, const char *path) {
	void *h = dlmopen(ns, path, RTLD_NOW);
	printf("%p\n", h ? dlsym(h, "in_plugin") : 0);
	fflush(stdout);
}

int main(int argc, char **argv) {
	load(LM_ID_BASE, argv[1]);
	load(LM_ID_NEWLM, argv[1]);
	char line[4096];
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		load(LM_ID_BASE, line);
	}
	return 0;
}
