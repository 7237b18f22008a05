// Wants to end with its parent (PR_SET_PDEATHSIG). Ends with status 7 some 100 ms after the end of its input.
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	usleep(100000);
	return 7;
}
