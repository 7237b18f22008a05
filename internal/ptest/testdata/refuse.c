/*
 * refuse NAME=ERRNO… -- COMMAND [ARG…]: executes the command under a seccomp filter that makes the named
 * system calls fail with these errors, as the profiles of containers do. NAME is ptrace, kcmp,
 * process_vm_readv, process_vm_writev, perf_event_open, bpf, pidfd_getfd, openat2, close_range or clone3; ERRNO is a
 * number. Some fail with some arguments only, as on kernels that do not know these: pidfd_open_nonblock (before Linux
 * 5.10), pidfd_open_thread (6.9), bpf_link (5.7), bpf_iter (5.8) and bpf_run (5.10 for programs that look at threads).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned nr;
	int arg;           /* 1: the first argument is value, 2: the second has its bit; 0: in any case */
	unsigned value;
} calls[] = {
	{ "ptrace", SYS_ptrace },
	{ "kcmp", SYS_kcmp },
	{ "process_vm_readv", SYS_process_vm_readv },
	{ "process_vm_writev", SYS_process_vm_writev },
	{ "perf_event_open", SYS_perf_event_open },
	{ "bpf", SYS_bpf },
	{ "pidfd_getfd", 438 },
	{ "openat2", 437 },
	{ "close_range", 436 },
	{ "clone3", 435 },
	{ "pidfd_open_nonblock", 434, 2, 04000 },
	{ "pidfd_open_thread", 434, 2, 0200 },
	{ "bpf_link", SYS_bpf, 1, 28 },
	{ "bpf_iter", SYS_bpf, 1, 33 },
	{ "bpf_run", SYS_bpf, 1, 10 },
};

enum { CALLS = sizeof calls / sizeof *calls };

static int number(const char *arg, const char *end)
{
	for (int i = 0; i < CALLS; i++)
		if (strlen(calls[i].name) == (size_t)(end - arg) && memcmp(calls[i].name, arg, (size_t)(end - arg)) == 0)
			return i;
	fprintf(stderr, "refuse: unknown call %s\n", arg);
	exit(3);
}

int main(int argc, char **argv)
{
	struct sock_filter code[3 + 5 * 32];
	struct sock_fprog prog = { .filter = code };
	int n = 0, i;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *error = strchr(argv[i], '=');

		if (error == NULL || i > 32)
			return 3;
		int call = number(argv[i], error);
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[call].nr, 0, calls[call].arg == 0 ? 1 : 4);
		if (calls[call].arg != 0) {
			code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[calls[call].arg - 1]));
			code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | (calls[call].arg == 1 ? BPF_JEQ : BPF_JSET) | BPF_K, calls[call].value, 0, 1);
		}
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(error + 1));
		if (calls[call].arg != 0)
			code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	}
	if (i + 1 >= argc)
		return 3;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0) {
		perror("refuse");
		return 3;
	}
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 127;
}
