/*
 * refuse NAME=ERRNO… -- COMMAND [ARG…]: executes the command under a seccomp filter that makes the named
 * system calls fail with these errors, as the profiles of containers do. NAME is ptrace, kcmp,
 * process_vm_readv, process_vm_writev, perf_event_open, bpf or pidfd_getfd; ERRNO is a number.
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
} calls[] = {
	{ "ptrace", SYS_ptrace },
	{ "kcmp", SYS_kcmp },
	{ "process_vm_readv", SYS_process_vm_readv },
	{ "process_vm_writev", SYS_process_vm_writev },
	{ "perf_event_open", SYS_perf_event_open },
	{ "bpf", SYS_bpf },
	{ "pidfd_getfd", 438 },
};

enum { CALLS = sizeof calls / sizeof *calls };

static unsigned number(const char *arg, const char *end)
{
	for (int i = 0; i < CALLS; i++)
		if (strlen(calls[i].name) == (size_t)(end - arg) && memcmp(calls[i].name, arg, (size_t)(end - arg)) == 0)
			return calls[i].nr;
	fprintf(stderr, "refuse: unknown call %s\n", arg);
	exit(3);
}

int main(int argc, char **argv)
{
	struct sock_filter code[3 + 2 * 32];
	struct sock_fprog prog = { .filter = code };
	int n = 0, i;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *error = strchr(argv[i], '=');

		if (error == NULL || i > 32)
			return 3;
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number(argv[i], error), 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(error + 1));
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
