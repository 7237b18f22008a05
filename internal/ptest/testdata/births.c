/*
 * births: -t threads make processes by every system call that can, with the memory copied and shared, -n
 * rounds each. Every end of a child is compared with the expected one. With -l the leader ends first. The
 * checksum is the number of children that have counted in the shared memory.
 */
#include "ptest.h"
#include "children.h"
#include <linux/sched.h>
#include <stddef.h>

#define CLONE_VM_ 0x100
#define CLONE_VFORK_ 0x4000

static _Atomic uint64_t counted;
static int leaderless;

NOINLINE void in_child(void) { atomic_fetch_add(&counted, 1); }

/* Makes a system call that returns twice. Children use no libc: some have our thread's TLS. */
static pid_t in_call(long nr, long a, long b, long code)
{
	pid_t pid;

	__asm__ volatile(
		"mov %[code], %%r12\n\t"
		"xor %%edx, %%edx\n\t"
		"xor %%r10d, %%r10d\n\t"
		"xor %%r8d, %%r8d\n\t"
		"syscall\n\t"
		"test %%eax, %%eax\n\t"
		"jnz 1f\n\t"
		"and $-16, %%rsp\n\t"
		"call in_child\n\t"
		"mov %%r12, %%rdi\n\t"
		"mov $231, %%eax\n\t"
		"syscall\n\t"
		"1:"
		: "=a"(pid)
		: "a"(nr), "D"(a), "S"(b), [code] "r"(code)
		: "rcx", "r11", "rdx", "r10", "r8", "r9", "r12", "memory", "cc");
	return pid;
}

enum { STACK = 64 << 10 };

static void *storm(void *arg)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t n, i, sharing = 0;

	if (stack == MAP_FAILED)
		die("mmap");
	for (n = 0; more(n); n++)
		for (i = 0; i < 7; i++) {
			struct clone_args a = { .exit_signal = SIGCHLD, .stack = (uintptr_t)stack, .stack_size = STACK - 16 };
			long code = (long)((n * 7 + i + (uintptr_t)arg) % 60), top = (long)(stack + STACK - 16);
			pid_t pid;

			switch (i) {
			case 0: pid = in_call(SYS_fork, 0, 0, code); break;
			case 1: pid = in_call(SYS_clone, SIGCHLD, 0, code); break;
			case 2: pid = in_call(SYS_clone, 0, 0, code); break;
			case 3:
				pid = in_call(SYS_clone3, (long)&a, sizeof a, code);
				if (pid == -ENOSYS) /* from a container's filter, which cannot see the flags */
					pid = in_call(SYS_clone, SIGCHLD, 0, code);
				break;
			case 4: pid = in_call(SYS_clone, CLONE_VM_ | SIGCHLD, top, code); break;
			case 5: pid = in_call(SYS_clone, CLONE_VM_ | CLONE_VFORK_, top, code); break;
			default:
				a.flags = CLONE_VM_;
				pid = in_call(SYS_clone3, (long)&a, sizeof a, code);
				if (pid == -ENOSYS)
					pid = in_call(SYS_clone, CLONE_VM_ | SIGCHLD, top, code);
			}
			if (pid < 0)
				die("no child");
			sharing += i >= 4;
			reap(pid, (int)code);
		}
	return (void *)(uintptr_t)sharing;
}

static void *rest(void *arg)
{
	if (leaderless)
		pthread_join(*(pthread_t *)arg, NULL);
	ready();
	if (in_threads(storm) != atomic_load(&counted))
		wrong("%llu counted", (unsigned long long)atomic_load(&counted));
	exit(done(atomic_load(&counted)));
}

static void extra(int letter, const char *value)
{
	leaderless = letter == 'l' && value != NULL;
}

int main(int argc, char **argv)
{
	pthread_t self = pthread_self();

	start(argc, argv, extra);
	pthread_detach(spawn(rest, &self));
	if (leaderless)
		pthread_exit(NULL);
	pause();
	return 1;
}
