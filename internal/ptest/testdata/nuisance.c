/*
 * nuisance -k KIND [-d DIR]: is hard to look at, until it is killed. One thread always works.
 *   maps     has 65,000 mappings
 *   names    has a command line of two megabytes, and names of itself, its threads, its files and its arguments that drive a terminal
 *   deep     works a million calls deep
 *   execs    executes itself again and again
 *   threads  has threads that end at once
 *   forks    has children that end at once
 *   perfmap  adds to its perf map
 *   fifo     has a FIFO for a perf map; zeros: a link to /dev/zero; sparse: a terabyte of nothing
 *   rewrite  changes a file that it has mapped, and that it executes code of
 *   root     has DIR for its root directory
 */
#include "ptest.h"
#include <sys/prctl.h>
#include <sys/wait.h>

enum { MAPPINGS = 65000, PAGE = 4096, ARGUMENT = 100000, ARGUMENTS = 20 };

#define WILD "\x1b[2J\x1b]0;t\a\r\n\t\x7f\xc2\x9b;x 1</script>\"\\"

static const char *kind = "", *dir = "/";
static char map_path[64];

static void extra(int letter, const char *value)
{
	if (letter == 'k')
		kind = value;
	if (letter == 'd')
		dir = value;
}

static int is(const char *name) { return strcmp(kind, name) == 0; }

NOINLINE static void *work(void *arg)
{
	prctl(PR_SET_NAME, WILD);
	for (volatile unsigned n = 0;; n++)
		;
	return arg;
}

NOINLINE static int deeper(int n)
{
	volatile int at = n;

	if (n == 0) {
		work(NULL);
		return 0;
	}
	return deeper(n - 1) + at;
}

static void *deep(void *arg) { return (void *)(uintptr_t)deeper(1000000 + (arg != NULL)); }
static void *nothing(void *arg) { return arg; }

static pthread_t begin(void *(*f)(void *), size_t stack)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, stack);
	if (pthread_create(&thread, &attr, f, NULL) != 0)
		die("pthread_create");
	return thread;
}

static void many_maps(void)
{
	char *at = mmap(NULL, (size_t)MAPPINGS * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	for (int i = 1; i < MAPPINGS; i += 2) /* until vm.max_map_count */
		if (mprotect(at + (size_t)i * PAGE, PAGE, PROT_READ | PROT_EXEC) != 0)
			break;
}

/* Executes this program with another command line; its file descriptor 100 is a link to it with another name. */
static void renamed(void)
{
	static char long_[ARGUMENT + 1];
	char *argv[ARGUMENTS + 4] = { "/tmp/" WILD "/../" WILD, "-k", "work" }, name[256];

	memset(long_, '\x1b', ARGUMENT);
	for (int i = 3; i < 3 + ARGUMENTS; i++)
		argv[i] = long_;
	snprintf(name, sizeof name, "%s/x%.*s", dir, 20, "\x1b[2J\n\t\xc2\x9b\a;x 1 <b>\"\\");
	if (link("/proc/self/exe", name) != 0) {
		char command[1024];

		snprintf(command, sizeof command, "cp /proc/%d/exe \"$NAME\"", (int)getpid());
		setenv("NAME", name, 1);
		if (system(command) != 0)
			die("cp");
	}
	execv(name, argv);
	die("execv");
}

static int perf_map(void)
{
	int fd;

	snprintf(map_path, sizeof map_path, "/tmp/perf-%d.map", (int)getpid());
	unlink(map_path);
	if (is("fifo"))
		return mkfifo(map_path, 0600);
	if (is("zeros"))
		return symlink("/dev/zero", map_path);
	if ((fd = open(map_path, O_CREAT | O_RDWR | O_APPEND, 0600)) < 0)
		die(map_path);
	if (is("sparse") && ftruncate(fd, 1ll << 40) != 0)
		die("ftruncate");
	return fd;
}

static void growing(int fd)
{
	static char chunk[1 << 16];
	int n = 0;

	for (uint64_t at = 0x10000, total = 0; total < 200 << 20; total += (uint64_t)n) {
		for (n = 0; n < (int)sizeof chunk - 64; at += 16)
			n += snprintf(chunk + n, 64, "%lx ffffff f%lu" WILD "\n", (unsigned long)at, (unsigned long)at);
		if (write(fd, chunk, (size_t)n) != n)
			die("write");
		usleep(1000);
	}
}

/* Has a file of its own executed and changed at the same time. */
static void rewriting(void)
{
	static char bytes[1 << 20];
	char name[256];
	int fd, from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(from, bytes, sizeof bytes);

	snprintf(name, sizeof name, "%s/changing", dir);
	if ((fd = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0700)) < 0 || n < PAGE || pwrite(fd, bytes, (size_t)n, 0) != n)
		die(name);
	char *code = mmap(NULL, (size_t)n, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	memcpy(bytes + PAGE, "\x48\xff\xc0\xeb\xfb", 5); /* inc %rax; jmp to it */
	if (pwrite(fd, bytes + PAGE, 5, PAGE) != 5 || code == MAP_FAILED)
		die("pwrite");
	begin((void *(*)(void *))(uintptr_t)(code + PAGE), 1 << 20);
	for (unsigned i = 0;; i = i * 1103515245 + 12345) {
		uint64_t v = i;
		off_t at = (off_t)((i >> 8) % (unsigned)n);

		if ((at < PAGE - 8 || at > PAGE + 8) && pwrite(fd, i % 7 == 0 ? &v : (void *)(bytes + at), 8, at) < 0)
			die("pwrite");
		if (i % 1000 == 0 && (ftruncate(fd, 2 * PAGE) != 0 || pwrite(fd, bytes, (size_t)n, 0) != n))
			die("ftruncate");
	}
}

int main(int argc, char **argv)
{
	start(argc, argv, extra);
	if (is("names"))
		renamed();
	if (is("execs")) {
		if (getenv("AGAIN") == NULL)
			ready();
		setenv("AGAIN", "1", 1);
		usleep(500);
		execv("/proc/self/exe", argv);
		die("execv");
	}
	if (is("root") && (chdir(dir) != 0 || chroot(".") != 0))
		die("chroot");
	begin(is("deep") ? deep : work, 1 << 29);
	if (is("maps"))
		many_maps();
	int fd = is("perfmap") || is("fifo") || is("zeros") || is("sparse") ? perf_map() : -1;

	ready();
	if (is("perfmap"))
		growing(fd);
	if (is("rewrite"))
		rewriting();
	while (is("threads"))
		pthread_join(begin(nothing, 1 << 16), NULL);
	while (is("forks"))
		if (fork() == 0)
			_exit(0);
		else
			wait(NULL);
	for (;;)
		pause();
}
