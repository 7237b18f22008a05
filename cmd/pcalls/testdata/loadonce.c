/*
 * loadonce: calls plugin_user for each line that it reads, and loads the object that is its argument before the first. That calls it, if it
 * has plugin_enter, as this source has with -DPLUGIN.
 */
#ifdef PLUGIN

void plugin_enter(void (*f)(void))
{
	f();
	__asm__ volatile("");
}

#else

#include <dlfcn.h>
#include <stdio.h>

__attribute__((noipa)) void plugin_user(void)
{
}

int main(int argc, char **argv)
{
	void (*enter)(void (*)(void));
	void *object = NULL;
	char line[64];

	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL) {
		if (object == NULL && (object = dlopen(argv[argc - 1], RTLD_NOW)) == NULL)
			return 1;
		*(void **)&enter = dlsym(object, "plugin_enter");
		if (enter != NULL)
			enter(plugin_user);
		else
			plugin_user();
		printf("called\n");
		fflush(stdout);
	}
	return 0;
}

#endif
