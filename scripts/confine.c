/*
 * confine PROFILE COMMAND [ARG…]: executes the command with the rights that a container gives it. PROFILE is
 *   docker  root with Docker's default capabilities and CAP_SYS_PTRACE
 *   ptrace  root with CAP_SYS_PTRACE alone
 *   user    user 65534 without capabilities
 * Each has no_new_privs and a seccomp filter that denies what Docker's default profile denies with these
 * capabilities. That profile lists what it allows; here stands what is left. Calls of 32-bit programs are not filtered.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(cap) (UINT64_C(1) << (cap))

/* Calls by number: headers may be older than the kernel. */
enum {
	CLONE3 = 435,
	NAMESPACES = 0x7e020000, /* CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET */
	VSOCK = 40,
	NOBODY = 65534,
};

static const uint64_t docker = BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FSETID) | BIT(CAP_FOWNER) |
	BIT(CAP_MKNOD) | BIT(CAP_NET_RAW) | BIT(CAP_SETGID) | BIT(CAP_SETUID) | BIT(CAP_SETFCAP) | BIT(CAP_SETPCAP) |
	BIT(CAP_NET_BIND_SERVICE) | BIT(CAP_SYS_CHROOT) | BIT(CAP_KILL) | BIT(CAP_AUDIT_WRITE) | BIT(CAP_SYS_PTRACE);

static const struct {
	const char *name;
	uint64_t capabilities;
	int user;
} profiles[] = {
	{ "docker", docker, 0 },
	{ "ptrace", BIT(CAP_SYS_PTRACE), 0 },
	{ "user", 0, NOBODY },
};

enum { PROFILES = sizeof profiles / sizeof *profiles };

/* Denied is a call, and the capability with which it is allowed; -1 where there is none of the three profiles'. */
static const struct {
	int nr, capability;
} denied[] = {
	{ SYS_acct, -1 }, { SYS_add_key, -1 }, { SYS_bpf, -1 }, { SYS_chroot, CAP_SYS_CHROOT },
	{ SYS_clock_settime, -1 }, { SYS_create_module, -1 }, { SYS_delete_module, -1 }, { SYS_fanotify_init, -1 },
	{ SYS_finit_module, -1 }, { SYS_get_kernel_syms, -1 }, { SYS_get_mempolicy, -1 }, { SYS_init_module, -1 },
	{ SYS_ioperm, -1 }, { SYS_iopl, -1 }, { SYS_kcmp, CAP_SYS_PTRACE }, { SYS_kexec_file_load, -1 },
	{ SYS_kexec_load, -1 }, { SYS_keyctl, -1 }, { SYS_lookup_dcookie, -1 }, { SYS_mbind, -1 },
	{ SYS_migrate_pages, -1 }, { SYS_mount, -1 }, { SYS_move_pages, -1 }, { SYS_nfsservctl, -1 },
	{ SYS_open_by_handle_at, -1 }, { SYS_perf_event_open, -1 }, { SYS_pivot_root, -1 }, { SYS_query_module, -1 },
	{ SYS_quotactl, -1 }, { SYS_reboot, -1 }, { SYS_request_key, -1 }, { SYS_set_mempolicy, -1 }, { SYS_setdomainname, -1 },
	{ SYS_sethostname, -1 }, { SYS_setns, -1 }, { SYS_settimeofday, -1 }, { SYS_swapoff, -1 }, { SYS_swapon, -1 },
	{ SYS__sysctl, -1 }, { SYS_sysfs, -1 }, { SYS_syslog, -1 }, { SYS_umount2, -1 }, { SYS_unshare, -1 }, { SYS_uselib, -1 },
	{ SYS_userfaultfd, -1 }, { SYS_ustat, -1 }, { SYS_vhangup, -1 }, { SYS_vserver, -1 },
	{ 425 /* io_uring_setup */, -1 }, { 426 /* io_uring_enter */, -1 }, { 427 /* io_uring_register */, -1 },
	{ 428 /* open_tree */, -1 }, { 429 /* move_mount */, -1 }, { 430 /* fsopen */, -1 }, { 431 /* fsconfig */, -1 },
	{ 432 /* fsmount */, -1 }, { 433 /* fspick */, -1 }, { 438 /* pidfd_getfd */, CAP_SYS_PTRACE },
	{ 440 /* process_madvise */, CAP_SYS_PTRACE }, { 442 /* mount_setattr */, -1 }, { 443 /* quotactl_fd */, -1 },
	{ 450 /* set_mempolicy_home_node */, -1 },
};

enum { DENIED = sizeof denied / sizeof *denied };

/* Personality(2) may ask, and set what these are: Linux, PER_LINUX32 and UNAME26 with either. */
static const unsigned personalities[] = { 0, 8, 0x20000, 0x20008, 0xffffffff };

enum { PERSONALITIES = sizeof personalities / sizeof *personalities };

static struct sock_filter code[2 * DENIED + PERSONALITIES + 32];
static unsigned short length;

static void emit(unsigned short op, uint32_t k, uint8_t yes, uint8_t no)
{
	code[length++] = (struct sock_filter){ op, yes, no, k };
}

static void load(size_t offset) { emit(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }
static void equal(uint32_t k, uint8_t yes, uint8_t no) { emit(BPF_JMP | BPF_JEQ | BPF_K, k, yes, no); }
static void answer(uint32_t what) { emit(BPF_RET | BPF_K, what, 0, 0); }

static void die(const char *what)
{
	fprintf(stderr, "confine: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void build(uint64_t capabilities)
{
	const size_t first = offsetof(struct seccomp_data, args[0]);
	const uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;
	int i;

	load(offsetof(struct seccomp_data, arch));
	equal(AUDIT_ARCH_X86_64, 1, 0);
	answer(SECCOMP_RET_ALLOW);
	load(offsetof(struct seccomp_data, nr));
	for (i = 0; i < DENIED; i++) {
		if (denied[i].capability >= 0 && (capabilities & BIT(denied[i].capability)) != 0)
			continue;
		equal((uint32_t)denied[i].nr, 0, 1);
		answer(refuse);
	}
	equal(CLONE3, 0, 1);
	answer(SECCOMP_RET_ERRNO | ENOSYS);
	equal(SYS_clone, 0, 4);
	load(first);
	emit(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1);
	answer(refuse);
	answer(SECCOMP_RET_ALLOW);
	equal(SYS_socket, 0, 4);
	load(first);
	equal(VSOCK, 0, 1);
	answer(refuse);
	answer(SECCOMP_RET_ALLOW);
	equal(SYS_personality, 0, PERSONALITIES + 2);
	load(first);
	for (i = 0; i < PERSONALITIES; i++)
		equal(personalities[i], (uint8_t)(PERSONALITIES - i), 0);
	answer(refuse);
	answer(SECCOMP_RET_ALLOW);
}

static void drop(uint64_t keep, int user)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	int cap;

	for (cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if ((keep & BIT(cap)) == 0 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
			die("bounding set");
	if (user != 0 && (setgroups(0, NULL) != 0 || setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0))
		die("user");
	data[0].permitted = data[0].effective = (uint32_t)keep;
	data[1].permitted = data[1].effective = (uint32_t)(keep >> 32);
	if (syscall(SYS_capset, &header, data) != 0)
		die("capabilities");
}

int main(int argc, char **argv)
{
	struct sock_fprog program = { .filter = code };
	int i;

	for (i = 0; argc > 2 && i < PROFILES && strcmp(argv[1], profiles[i].name) != 0; i++)
		;
	if (argc < 3 || i == PROFILES) {
		fprintf(stderr, "usage: confine docker|ptrace|user COMMAND [ARG...]\n");
		return 125;
	}
	drop(profiles[i].capabilities, profiles[i].user);
	build(profiles[i].capabilities);
	program.len = length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		die("seccomp");
	execvp(argv[2], argv + 2);
	die(argv[2]);
}
