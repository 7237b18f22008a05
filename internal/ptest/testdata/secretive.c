/*
 * secretive: waits until standard input ends. Other processes may not trace it, for a reason by kind (-k):
 *   undumpable  it has asked for that by prctl
 *   dropped     its capabilities are permitted, and none is effective
 *   user        its saved user differs from the real and effective one, which are -u
 */
#include "ptest.h"
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static const char *kind = "";
static int user;

static void extra(int letter, const char *value)
{
	if (letter == 'k')
		kind = value;
	if (letter == 'u')
		user = atoi(value);
}

int main(int argc, char **argv)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	start(argc, argv, extra);
	if (strcmp(kind, "undumpable") == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		die("prctl");
	if (strcmp(kind, "user") == 0 && setresuid((uid_t)user, (uid_t)user, 0) != 0)
		die("setresuid");
	if (strcmp(kind, "dropped") == 0) {
		if (syscall(SYS_capget, &header, data) != 0)
			die("capget");
		data[0].effective = data[1].effective = 0;
		if (syscall(SYS_capset, &header, data) != 0)
			die("capset");
	}
	ready();
	await_end();
	return done(0);
}
