/* Children that a storm starts, and how they must end. */
#ifndef CHILDREN_H
#define CHILDREN_H

#include <sys/wait.h>
#include <sys/syscall.h>
#include <signal.h>

/* This program's own file, for children that exec. */
static char self_path[] = "/proc/self/exe";
static char self_file[4096];

static UNUSED void find_self(void)
{
	ssize_t n = readlink(self_path, self_file, sizeof self_file - 1);

	if (n < 0)
		die("readlink");
	self_file[n] = '\0';
}

/* A program started as "NAME child CODE" is a child: it ends with that status. */
static UNUSED void maybe_child(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "child") == 0)
		exit(atoi(argv[2]));
}

/* Reaps pid and compares its end: an exit status, or minus a signal. */
static UNUSED void reap(pid_t pid, int expected)
{
	int status, got;
	pid_t r;

	while ((r = waitpid(pid, &status, __WALL)) < 0 && errno == EINTR)
		;
	if (r != pid) {
		wrong("waitpid(%d): %s", (int)pid, strerror(errno));
		return;
	}
	got = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
	if (got != expected)
		wrong("child %d ended with %d, not %d", (int)pid, got, expected);
	atomic_fetch_add(&truth->work, 1);
}

/* Runs storm(thread) in all threads and returns the sum of what they return. */
static UNUSED uint64_t in_threads(void *(*storm)(void *))
{
	pthread_t t[64];
	uint64_t sum = 0;
	int i;

	if (threads > 64)
		threads = 64;
	for (i = 0; i < threads; i++)
		t[i] = spawn(storm, (void *)(uintptr_t)i);
	for (i = 0; i < threads; i++) {
		void *v;

		pthread_join(t[i], &v);
		sum += (uintptr_t)v;
	}
	return sum;
}

/* Whether a storm's thread goes on after n rounds. */
static UNUSED int more(uint64_t n) { return count == 0 ? !over() : n < count; }

#endif
