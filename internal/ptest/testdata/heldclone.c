/*
 * heldclone: at a line on standard input it makes a thread, which spins. The call is held twice, each time until another
 * line comes: in the middle, before the kernel decides whether the thread is attached to a tracer, where it writes the
 * pidfd, and near its end, when the thread exists and has not run, where it writes the thread's number. Both go to pages that
 * userfaultfd has to bring. The program ends at a fourth line. Without a pidfd for a thread (before Linux 6.9) it prints "old".
 */
#include "ptest.h"
#include "children.h"
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

enum { PAGE = 4096 };

struct args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

static void await_line(void)
{
	char c = 0;

	while (c != '\n')
		if (read(0, &c, 1) != 1)
			_exit(1);
}

/* This is another process, because a traced one may be stopped when a line comes. */
static void monitor(int uffd, int pipe, uint64_t pages)
{
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < 4; i++) {
		struct uffdio_zeropage zero = { .range = { pages + (uint64_t)(i - 1) * PAGE, PAGE } };

		await_line();
		if (i == 0 || i == 3) {
			if (write(pipe, "x", 1) != 1)
				die("write");
		} else if (ioctl(uffd, UFFDIO_ZEROPAGE, &zero) != 0)
			die("UFFDIO_ZEROPAGE");
	}
	_exit(0);
}

/* The new thread uses no stack. */
static long clone3_spin(struct args *a)
{
	long r = 435;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 2f\n"
			 "1:\tpause\n\t"
			 "jmp 1b\n"
			 "2:"
			 : "+a"(r)
			 : "D"(a), "S"(sizeof *a)
			 : "rcx", "r11", "memory");
	return r;
}

static void await_byte(int fd)
{
	char c;

	while (read(fd, &c, 1) != 1)
		if (errno != EINTR)
			die("read");
}

int main(int argc, char **argv)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING, .range.len = 2 * PAGE };
	struct args a = { .flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_SYSVSEM | CLONE_THREAD | CLONE_PIDFD | CLONE_PARENT_SETTID };
	char *pages;
	int uffd, go[2];
	pid_t other;
	long tid;

	start(argc, argv, NULL);
	pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (pages == MAP_FAILED || uffd < 0 || ioctl(uffd, UFFDIO_API, &api) != 0 || pipe(go) != 0)
		die("userfaultfd");
	reg.range.start = (uint64_t)(uintptr_t)pages;
	if ((other = fork()) == 0)
		monitor(uffd, go[1], reg.range.start);
	if (other < 0 || ioctl(uffd, UFFDIO_REGISTER, &reg) != 0)
		die("UFFDIO_REGISTER");
	a.pidfd = reg.range.start;
	a.parent_tid = reg.range.start + PAGE;
	ready();
	await_byte(go[0]);
	tid = clone3_spin(&a);
	if (tid == -EINVAL) {
		printf("old\n");
		return 0;
	}
	if (tid < 0)
		die("clone3");
	await_byte(go[0]);
	reap(other, 0);
	return done(1);
}
