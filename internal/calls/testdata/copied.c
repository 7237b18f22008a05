/*
 * copied: coroutines that share one stack. Their frames are copied out of it when they yield, and back when they go on. For each line with a number of
 * rounds it prints how often its functions were called, and have returned.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define KEEP __attribute__((noinline, noclone, noipa))
#define COROUTINES 5
#define STACK (64 << 10)

static struct coroutine {
	ucontext_t at;
	char *saved;
	size_t size;
	int begun, done, n;
} all[COROUTINES];

static _Alignas(16) char stack[STACK];
static ucontext_t scheduler;
static struct coroutine *running;
static long rounds, outer_called, outer_returned, inner_called, inner_returned;

/* The frames are between the stack pointer and the end of the stack. */
static void yield(void)
{
	char here;

	running->size = stack + STACK - &here + 512;
	swapcontext(&running->at, &scheduler);
}

KEEP long inner(long n)
{
	volatile char room[300];

	inner_called++;
	room[n % 300] = 1;
	if (n % 3)
		yield();
	inner_returned++;
	return room[n % 300];
}

KEEP long outer(long n)
{
	long sum;

	outer_called++;
	if (n % 2)
		yield();
	sum = inner(n) + inner(n + 1);
	if (n % 5 == 0)
		yield();
	outer_returned++;
	return sum;
}

static void body(void)
{
	struct coroutine *c = running;

	for (long i = 0; i < rounds; i++)
		outer(i * COROUTINES + c->n);
	c->done = 1;
	for (;;)
		yield();
}

static void go_on(struct coroutine *c)
{
	running = c;
	if (!c->begun) {
		c->begun = 1;
		getcontext(&c->at);
		c->at.uc_stack.ss_sp = stack;
		c->at.uc_stack.ss_size = STACK;
		c->at.uc_link = 0;
		makecontext(&c->at, body, 0);
	} else {
		memcpy(stack + STACK - c->size, c->saved, c->size);
	}
	swapcontext(&scheduler, &c->at);
	c->saved = realloc(c->saved, c->size);
	memcpy(c->saved, stack + STACK - c->size, c->size);
}

int main(void)
{
	char line[64];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		int left = COROUTINES;

		rounds = atol(line);
		for (int i = 0; i < COROUTINES; i++)
			all[i].begun = all[i].done = 0, all[i].n = i;
		while (left > 0) {
			left = 0;
			for (int i = 0; i < COROUTINES; i++)
				if (!all[i].done) {
					go_on(&all[i]);
					left += !all[i].done;
				}
		}
		printf("outer %ld %ld inner %ld %ld\n", outer_called, outer_returned, inner_called, inner_returned);
		fflush(stdout);
	}
	return 0;
}
