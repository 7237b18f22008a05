/*
 * thousand: a round calls each of the functions many_000 to many_999 as often as the rest of its number by 4 says, 1500 calls in all. When
 * standard input ends there are 2 rounds. With -DPLUGIN this is an object that has them, and with a path such objects are loaded: the rounds are
 * theirs, 2 each time that one is loaded, in the order of the paths. A path that ends in + is executed. With -i there are rounds until it ends.
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NUMBER(a, b, c) ((a) * 100 + (b) * 10 + (c))
#define ONES(F, a, b) F(a, b, 0) F(a, b, 1) F(a, b, 2) F(a, b, 3) F(a, b, 4) F(a, b, 5) F(a, b, 6) F(a, b, 7) F(a, b, 8) F(a, b, 9)
#define TENS(F, a) ONES(F, a, 0) ONES(F, a, 1) ONES(F, a, 2) ONES(F, a, 3) ONES(F, a, 4) ONES(F, a, 5) ONES(F, a, 6) ONES(F, a, 7) ONES(F, a, 8) ONES(F, a, 9)
#define ALL(F) TENS(F, 0) TENS(F, 1) TENS(F, 2) TENS(F, 3) TENS(F, 4) TENS(F, 5) TENS(F, 6) TENS(F, 7) TENS(F, 8) TENS(F, 9)

static volatile unsigned long sum;

#ifndef THEIRS
#define FUNCTION(a, b, c) \
	__attribute__((noipa, optimize("no-omit-frame-pointer"))) void many_##a##b##c(void) { sum += NUMBER(a, b, c); }
ALL(FUNCTION)

void round_of_all(void);
void round_of_all(void)
{
	int n;

#define CALLS(a, b, c) \
	for (n = 0; n < NUMBER(a, b, c) % 4; n++) \
		many_##a##b##c();
	ALL(CALLS)
}
#endif

#ifndef PLUGIN
int main(int argc, char **argv)
{
	void (*round)(void) = NULL;
	char c;
	int i, forever = argc > 1 && strcmp(argv[1], "-i") == 0;

#ifndef THEIRS
	round = round_of_all;
#endif
	puts("ready");
	fflush(stdout);
	if (forever) {
		struct pollfd in = {0, POLLIN, 0};

		for (; poll(&in, 1, 0) == 0; usleep(100))
			round();
	}
	while (read(0, &c, 1) > 0)
		;
	for (i = 1; !forever && i < argc; i++) {
		void *h;
		size_t end = strlen(argv[i]) - 1;

		if (argv[i][end] == '+') {
			char *rest[] = {argv[i], NULL};

			argv[i][end] = 0;
			execv(argv[i], rest);
			return 2;
		}
		if ((h = dlopen(argv[i], RTLD_NOW)) == NULL)
			return 3;
		*(void **)&round = dlsym(h, "round_of_all");
		round();
		round();
		dlclose(h);
	}
	if (argc == 1) {
		round();
		round();
	}
	return 0;
}
#endif
