/*
 * without: execs argv[2] in a process where the system calls named in argv[1], separated by commas, fail with
 * EPERM, as the filters of container profiles have it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct { const char *name; int nr; } calls[] = {
	{ "kcmp", SYS_kcmp },
	{ "perf_event_open", SYS_perf_event_open },
	{ "bpf", SYS_bpf },
};

int main(int argc, char **argv)
{
	struct sock_filter f[32] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	struct sock_fprog prog = { .filter = f };
	unsigned n = 1, i;
	char *name;

	if (argc < 3)
		return 2;
	for (name = strtok(argv[1], ","); name != NULL; name = strtok(NULL, ",")) {
		for (i = 0; i < sizeof calls / sizeof *calls && strcmp(calls[i].name, name) != 0; i++)
			;
		if (i == sizeof calls / sizeof *calls || n > 28)
			return 2;
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].nr, 0, 1);
		f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0) {
		perror("seccomp");
		return 1;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 1;
}
