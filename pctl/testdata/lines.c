/*
 * lines: when standard input ends, run is called: that of the plugin in the first argument, or its own. With a second argument a child does so.
 * Comments name the lines that a test has breakpoints at.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static inline __attribute__((always_inline)) int twice(int x)
{
	volatile int y = x;
	return y * 2; /* twice */
}

__attribute__((noinline)) int work(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += twice(i) + n; /* loop */
	return sum;
}

__attribute__((noinline)) int other(int n) { return twice(n) + 1; }

/* no code */

int run(void)
{ /* next */
	int t = 0;

	for (int i = 0; i < 3; i++)
		t += work(4) + other(i);
	return t; /* end */
}

#ifndef PLUGIN
int main(int argc, char **argv)
{
	int (*call)(void) = run;
	void *plugin;
	char c;

	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) == 1)
		;
	if (argc > 1) {
		if ((plugin = dlopen(argv[1], RTLD_NOW)) == NULL)
			return 1;
		*(void **)&call = dlsym(plugin, "run");
	}
	if (argc > 2) {
		int status;

		if (fork() == 0)
			return call() == 93 ? 0 : 2;
		return wait(&status) < 0 || status != 0;
	}
	return call() == 93 ? 0 : 2;
}
#endif
