/*
 * rseq: a thread stays in a restartable sequence (rseq(2)) until standard input ends. The symbol
 * in_sequence is in the sequence, behind_sequence behind it.
 */
#include "ptest.h"
#include <sys/rseq.h>

extern void restartable(struct rseq *area, uint64_t *aborts, int *over);

static int ended;

static void *sequence(void *arg)
{
	uint64_t aborts = 0;

	restartable((struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset), &aborts, &ended);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	start(argc, argv, NULL);
	if (__rseq_size == 0)
		wrong("the C library has not registered an rseq area");
	t = spawn(sequence, NULL);
	ready();
	await_end();
	__atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	return done(0);
}
