/*
 * What the targets share: the line that says that they are ready, arguments, the page of truth.
 * Every target takes -n COUNT (how much work before it ends by itself; 0: until its standard input
 * ends) and -t THREADS. It prints "ready" once, and ends with "done CHECKSUM" and status 0. Status 3
 * says that it has found an error itself, which it describes on standard error.
 */
#ifndef PTEST_H
#define PTEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define UNUSED __attribute__((unused))

/* PAUSE is for a loop that waits for another thread. CALL_ON calls a function that never returns, on another stack. */
#ifdef __aarch64__
#define PAUSE() __asm__ volatile("yield" ::: "memory")
#define CALL_ON(top, f) __asm__ volatile("mov sp, %0\n\tblr %1" : : "r"(top), "r"(f) : "memory", "x30")
#else
#define PAUSE() __asm__ volatile("pause" ::: "memory")
#define CALL_ON(top, f) __asm__ volatile("mov %0, %%rsp\n\tcall *%1" : : "r"(top), "r"(f) : "memory")
#endif

enum { SHARES = 48, KINDS = 64 };

/* The page; truth.go has the same layout. */
struct truth {
	_Atomic uint64_t work, gap, eintr, signals, errors, stretch, base;
	uint64_t reserved[9];
	_Atomic uint64_t share[SHARES];
	_Atomic uint64_t kind[KINDS];
};

static struct truth truth_alone;
static struct truth *truth = &truth_alone;

/* The arguments. */
static UNUSED uint64_t count;
static UNUSED int threads = 1;

static UNUSED void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(3);
}

static UNUSED void wrong(const char *format, ...)
{
	va_list ap;

	atomic_fetch_add(&truth->errors, 1);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static UNUSED uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static UNUSED void raise_to(_Atomic uint64_t *max, uint64_t value)
{
	uint64_t old = atomic_load(max);

	while (old < value && !atomic_compare_exchange_weak(max, &old, value))
		;
}

/*
 * A sum of times, some of which are not over. It is one word, so that it can be read at any moment (Truth.Spent). 2^50 ns are
 * subtracted for each time that is not over, which shows their number. Call spend_from_now first.
 */
static UNUSED void spend_from_now(void) { atomic_store(&truth->base, now()); }
static UNUSED uint64_t spend_stamp(void) { return (1ull << 50) + now() - atomic_load(&truth->base); }
static UNUSED void spend_begin(_Atomic uint64_t *sum) { atomic_fetch_sub(sum, spend_stamp()); }
static UNUSED void spend_end(_Atomic uint64_t *sum) { atomic_fetch_add(sum, spend_stamp()); }

static UNUSED void truth_open(void)
{
	const char *path = getenv("PTEST_TRUTH");
	int fd;

	if (path == NULL || *path == '\0')
		return;
	if ((fd = open(path, O_RDWR | O_CLOEXEC)) < 0)
		die(path);
	truth = mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (truth == MAP_FAILED)
		die("mmap");
	close(fd);
}

/* Reads the arguments. Passes those with other letters to extra(letter, value), if given. */
static UNUSED void start(int argc, char **argv, void (*extra)(int, const char *))
{
	int i;

	truth_open();
	for (i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (argv[i][0] != '-')
			continue;
		if (argv[i][1] == 'n')
			count = strtoull(value, NULL, 0), i++;
		else if (argv[i][1] == 't')
			threads = atoi(value), i++;
		else if (extra != NULL)
			extra(argv[i][1], value);
	}
}

static UNUSED void ready(void)
{
	puts("ready");
	fflush(stdout);
}

/* Whether standard input has ended (or holds something); does not block. */
static UNUSED int over(void)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* Blocks until standard input ends. */
static UNUSED void await_end(void)
{
	char b[64];
	ssize_t n;

	while ((n = read(0, b, sizeof b)) != 0)
		if (n < 0 && errno != EINTR)
			return;
}

/* Prints the last line of a target, and returns its exit status. */
static UNUSED int done(uint64_t checksum)
{
	printf("done %llu\n", (unsigned long long)checksum);
	fflush(stdout);
	return atomic_load(&truth->errors) != 0 ? 3 : 0;
}

static UNUSED pthread_t spawn(void *(*f)(void *), void *arg)
{
	pthread_t t;
	int err = pthread_create(&t, NULL, f, arg);

	if (err != 0) {
		errno = err;
		die("pthread_create");
	}
	return t;
}

#endif
