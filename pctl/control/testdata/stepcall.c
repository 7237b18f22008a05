/*
 * stepcall: reads a byte, then waits in epoll_wait(2), 20 ms each time, until it can read another, and prints how many calls
 * it has made. It ends with status 3 if one returns EINTR. The call is made by the instruction wait_call.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

long wait_for(int fd, struct epoll_event *e, long n, long ms);
__asm__(".text\n.globl wait_for, wait_call\n.type wait_for,@function\n.type wait_call,@function\n"
	"wait_for: movl $232, %eax\n" /* epoll_wait */
	"movq %rcx, %r10\n"
	"wait_call: syscall\n"
	"ret\n");

int main(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	int fd = epoll_create1(0);
	long got, calls = 0;
	char c;

	if (fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, 0, &e) != 0)
		return 4;
	puts("ready");
	fflush(stdout);
	if (read(0, &c, 1) != 1)
		return 4;
	do
		calls++;
	while ((got = wait_for(fd, &e, 1, 20)) == 0);
	printf("%ld\n", calls);
	return got == 1 ? 0 : got == -EINTR ? 3 : 5;
}
