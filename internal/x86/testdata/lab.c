/*
 * A process in which single instructions are run. It maps the file named by the argument executable at
 * two addresses that are too far apart for a rip-relative operand, and maps the file's second half
 * writable as data. The thread does nothing by itself; the test sets its registers.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* No round numbers: random registers must not hit the code. */
#define NEAR ((void *)0x41230000)
#define FAR ((void *)0x512350000)
#define DATA ((void *)0x41330000)
#define HALF 0x2000

static void nothing(int sig) { (void)sig; }

static int place(void *at, int fd, int prot, off_t off)
{
	return mmap(at, HALF, prot, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, off) == at;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
	char c;

	if (fd < 0 || !place(NEAR, fd, PROT_READ | PROT_WRITE | PROT_EXEC, 0) ||
	    !place(FAR, fd, PROT_READ | PROT_WRITE | PROT_EXEC, 0) ||
	    !place(DATA, fd, PROT_READ | PROT_WRITE, HALF)) {
		perror("lab");
		return 3;
	}
	signal(SIGUSR1, nothing);
	puts("ready");
	fflush(stdout);
	return read(0, &c, 1) != 0;
}
