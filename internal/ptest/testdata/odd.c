/*
 * odd: a process that a tool cannot grab like any other. It prints "ready", followed by a number if the
 * kind has one, and waits for the end of standard input. The kinds (-k):
 *   zombie      leaves a dead child unreaped; the number is its PID
 *   undumpable  PR_SET_DUMPABLE 0; with -u UID it becomes that user first
 *   seccomp     strict mode: any system call except read, write and exit would kill it
 *   user        a process of user -u UID, dumpable
 *   userns      in a user namespace of its own
 */
#include "ptest.h"
#include "children.h"
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>

static const char *kind = "user";
static uid_t uid;

static void extra(int letter, const char *value)
{
	if (letter == 'k')
		kind = value;
	if (letter == 'u')
		uid = (uid_t)atoi(value);
}

static int is(const char *name) { return strcmp(kind, name) == 0; }

static int leave_zombie(void)
{
	siginfo_t si;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	if (pid < 0 || waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT) != 0)
		die("zombie");
	return pid;
}

int main(int argc, char **argv)
{
	char line[64] = "ready\n", b[64];

	start(argc, argv, extra);
	if (is("zombie"))
		snprintf(line, sizeof line, "ready %d\n", leave_zombie());
	if (is("userns") && unshare(CLONE_NEWUSER) != 0)
		die("unshare");
	if (uid != 0 && (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0))
		die("setresuid");
	/* A change of the user makes a process undumpable as well. */
	if (prctl(PR_SET_DUMPABLE, !is("undumpable"), 0, 0, 0) != 0)
		die("PR_SET_DUMPABLE");
	if (is("seccomp") && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0)
		die("PR_SET_SECCOMP");
	(void)!write(1, line, strlen(line));
	while (read(0, b, sizeof b) > 0)
		;
	(void)!write(1, "done 0\n", 7);
	syscall(SYS_exit, 0); /* exit_group is not allowed in strict mode */
}
