/* otherpath: loads this file, made as a library, from two paths. It prints "ready", and calls both functions when it has input. */
#include <dlfcn.h>
#include <stdio.h>

#ifdef LIBRARY
int otherpath_called(int n)
{
	return 3 * n + 1;
}
#else
int main(int argc, char **argv)
{
	int (*called[2])(int);

	for (int i = 0; i < 2; i++) {
		void *lib = dlopen(argv[1 + i], RTLD_NOW);
		if (lib == NULL || (called[i] = (int (*)(int))dlsym(lib, "otherpath_called")) == NULL)
			return 3;
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF) {
		called[0](1);
		called[1](1);
		puts("called");
		fflush(stdout);
	}
	return argc == 3 ? 0 : 3;
}
#endif
