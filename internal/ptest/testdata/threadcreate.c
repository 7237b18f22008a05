/*
 * threadcreate: creates and joins threads from five places, -n times 1, 2, 3, 4 and 5 of them
 * (n = 10). It prints each place with its count. With -w it waits for a line of standard input, or its
 * end, before it begins. With -u it sleeps so many us after each thread of create.
 */
#include "ptest.h"

static useconds_t rest;

static void *nothing(void *arg) { return arg; }

NOINLINE static void create(uint64_t n)
{
	for (; n > 0; n--) {
		pthread_join(spawn(nothing, NULL), NULL);
		if (rest != 0)
			usleep(rest);
		atomic_fetch_add(&truth->work, 1);
	}
	__asm__ volatile(""); /* the caller stays on the stack: no tail call */
}

#define PLACE(name, times)                                     \
	NOINLINE static void name(uint64_t n)                  \
	{                                                      \
		create(n * times);                             \
		printf("%s %llu\n", #name, (unsigned long long)(n * times)); \
	}

PLACE(place_one, 1)
PLACE(place_two, 2)
PLACE(place_three, 3)
PLACE(place_four, 4)

/* The fifth creates its threads from a thread. */
NOINLINE static void *deeper(void *arg)
{
	create((uintptr_t)arg - 1);
	return NULL;
}

NOINLINE static void place_five(uint64_t n)
{
	pthread_join(spawn(deeper, (void *)(uintptr_t)(n * 5)), NULL);
	printf("place_five %llu\n", (unsigned long long)(n * 5));
}

static int wait_first;

static void extra(int letter, const char *value)
{
	if (letter == 'w')
		wait_first = 1;
	else if (letter == 'u')
		rest = atoi(value);
}

int main(int argc, char **argv)
{
	char b[64];

	count = 10;
	start(argc, argv, extra);
	ready();
	if (wait_first)
		(void)!read(0, b, sizeof b);
	place_one(count);
	place_two(count);
	place_three(count);
	place_four(count);
	place_five(count);
	return done(15 * count);
}
