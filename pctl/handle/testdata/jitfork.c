// Makes two functions at run time, lists them in /tmp/perf-PID.map, and forks a child. The child replaces the second
// function. It prints its number and the addresses, and waits until its standard input ends; so does the parent, which
// removes the list.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};
	char path[64], c;
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
	if (page == MAP_FAILED)
		return 1;
	memcpy(page, code, sizeof code);
	memcpy(page + 64, code, sizeof code);
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	FILE *f = fopen(path, "we");
	if (f == NULL)
		return 1;
	fprintf(f, "%lx %zx jit_kept\n%lx %zx jit_replaced\n", (long)page, sizeof code, (long)page + 64, sizeof code);
	fclose(f);
	int pid = fork();
	if (pid == 0) {
		unsigned char *mine = mmap(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED, -1, 0);
		memcpy(mine, code, sizeof code);
		memset(mine + 64, 0x90, sizeof code);
		printf("%d %lx\n", (int)getpid(), (long)page);
		fflush(stdout);
		while (read(0, &c, 1) > 0)
			;
		_exit(0);
	}
	waitpid(pid, 0, 0);
	unlink(path);
	return 0;
}
