/*
 * steps: calls step over and over, which ends with each line. Then the number of the ended calls is printed.
 */
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline, noclone, noipa)) long step(void)
{
	char line[64];

	return read(0, line, sizeof line);
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (int n = 1; step() > 0; n++) {
		printf("%d\n", n);
		fflush(stdout);
	}
	return 0;
}
