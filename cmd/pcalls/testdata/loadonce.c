/* loadonce: calls plugin_user for each line that it reads, and loads the object that is its argument before the first. */
#include <dlfcn.h>
#include <stdio.h>

__attribute__((noipa)) void plugin_user(void)
{
}

int main(int argc, char **argv)
{
	char line[64];
	void *object = NULL;

	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL) {
		if (object == NULL && (object = dlopen(argv[argc - 1], RTLD_NOW)) == NULL)
			return 1;
		plugin_user();
		printf("worked\n");
		fflush(stdout);
	}
	return 0;
}
