/*
 * lateload: loads the plugin of its argument. Each byte of standard input is an order:
 *   b  block all signals
 *   u  block none
 *   l  load the plugin
 *   p  call its function
 * An order is answered by a line with its letter.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void *plugin = NULL;
	int (*call)(int) = NULL;
	sigset_t set;
	char order;

	if (argc < 2)
		return 2;
	printf("ready\n");
	fflush(stdout);
	while (read(0, &order, 1) == 1) {
		switch (order) {
		case 'b':
			sigfillset(&set);
			sigprocmask(SIG_SETMASK, &set, NULL);
			break;
		case 'u':
			sigemptyset(&set);
			sigprocmask(SIG_SETMASK, &set, NULL);
			break;
		case 'l':
			if ((plugin = dlopen(argv[1], RTLD_NOW)) == NULL)
				return 3;
			*(void **)&call = dlsym(plugin, "plugin_call");
			break;
		case 'p':
			if (call(1) != 2)
				return 4;
			break;
		default:
			continue;
		}
		printf("%c .\n", order);
		fflush(stdout);
	}
	return 0;
}
