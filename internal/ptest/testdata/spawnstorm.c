/*
 * spawnstorm: -t threads start -n programs each: with posix_spawn, or with system() (-s), or with
 * popen (-o), whose output is read and compared. The checksum is the number of programs.
 */
#include "ptest.h"
#include "children.h"
#include <spawn.h>

extern char **environ;

static int way;

static void by_spawn(int code)
{
	char text[8];
	char *argv[] = { self_file, "child", text, NULL };
	pid_t pid;

	snprintf(text, sizeof text, "%d", code);
	if ((errno = posix_spawn(&pid, self_file, NULL, NULL, argv, environ)) != 0)
		die("posix_spawn");
	reap(pid, code);
}

static void by_system(int code)
{
	char text[32];
	int status;

	snprintf(text, sizeof text, "exit %d", code);
	status = system(text);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != code)
		wrong("system: status %#x, not exit %d", status, code);
	atomic_fetch_add(&truth->work, 1);
}

static void by_popen(int code)
{
	char text[32];
	int got = -1, status;
	FILE *f;

	snprintf(text, sizeof text, "echo %d; exit %d", code, code);
	if ((f = popen(text, "re")) == NULL)
		die("popen");
	if (fscanf(f, "%d", &got) != 1 || got != code)
		wrong("popen: read %d, not %d", got, code);
	status = pclose(f);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != code)
		wrong("popen: status %#x, not exit %d", status, code);
	atomic_fetch_add(&truth->work, 1);
}

static void *storm(void *arg)
{
	uint64_t n;

	for (n = 0; more(n); n++) {
		int code = (int)((n + (uintptr_t)arg) % 60);

		if (way == 's')
			by_system(code);
		else if (way == 'o')
			by_popen(code);
		else
			by_spawn(code);
	}
	return (void *)(uintptr_t)n;
}

static void extra(int letter, const char *value UNUSED) { way = letter; }

int main(int argc, char **argv)
{
	maybe_child(argc, argv);
	find_self();
	start(argc, argv, extra);
	ready();
	return done(in_threads(storm));
}
