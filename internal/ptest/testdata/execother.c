/*
 * execother: executes the program -p, which executes this one, and so on, -n times (0: until standard input ends).
 * Both are this source, built with -static, and the other one with -DOTHER. The first one lives until it is traced, and
 * for up to -u microseconds after that. With -n it does not wait for a tracer. The other one has the middle of an
 * instruction where the first one has its function spot. It checks the constant of that instruction for -u microseconds,
 * and ends with status 3 if the constant changes. The checksum is the count.
 */
#include "ptest.h"
#include "children.h"

#define CONSTANT 0x1122334455667788

__asm__(".pushsection .spot,\"ax\",@progbits\n"
#ifdef OTHER
	".globl constant\n.type constant,@function\n"
	"constant: movabs $0x1122334455667788, %rax\n\tret\n"
	".size constant, . - constant\n"
#else
	"\tnop\n\tnop\n"
	".globl spot\n.type spot,@function\n"
	"spot: ret\n"
	".size spot, . - spot\n"
#endif
	".popsection\n");

#ifdef OTHER
uint64_t constant(void);
#else
void spot(void);
#endif

static uint64_t round_;
static unsigned most = 300;
static const char *other;

static void extra(int letter, const char *value)
{
	if (letter == 'p')
		other = value;
	if (letter == 'u')
		most = (unsigned)atoi(value);
	if (letter == 'i')
		round_ = strtoull(value, NULL, 0);
}

static void *sleeper(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static int is_traced(void)
{
	char b[2048], *at;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, b, sizeof b - 1);

	if (n < 0)
		die("/proc/self/status");
	close(fd);
	b[n] = '\0';
	at = strstr(b, "TracerPid:");
	return at != NULL && atoi(at + 10) != 0;
}

/* live: the first program lives until it is traced, and a little longer. The other one checks its text. */
static void live(void)
{
	uint64_t end;

#ifndef OTHER
	while (count == 0 && !over() && !is_traced())
		spot();
	end = now() + (now() >> 4) % most * 1000;
	while (now() < end)
		spot();
#else
	for (end = now() + 1000 * most; now() < end;)
		if (constant() != CONSTANT) {
			wrong("the text has changed: %llx", (unsigned long long)constant());
			exit(done(round_));
		}
#endif
}

int main(int argc, char **argv)
{
	char i[24], n[24], t[12], u[12];
	char *next[] = { NULL, "-p", self_file, "-n", n, "-t", t, "-u", u, "-i", i, NULL };
	int k;

	threads = 2;
	start(argc, argv, extra);
	find_self();
	if (round_ == 0)
		ready();
	for (k = 0; k < threads; k++)
		spawn(sleeper, NULL);
	live();
	atomic_fetch_add(&truth->work, 1);
	if (count == 0 ? over() : round_ >= count)
		return done(round_);
	next[0] = (char *)other;
	snprintf(i, sizeof i, "%llu", (unsigned long long)(round_ + 1));
	snprintf(n, sizeof n, "%llu", (unsigned long long)count);
	snprintf(t, sizeof t, "%d", threads);
	snprintf(u, sizeof u, "%u", most);
	execv(other, next);
	die(other);
}
