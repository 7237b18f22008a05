/*
 * requeue: a thread waits on a futex, and is requeued to another one. At the end of the standard input
 * it prints how many threads are woken on the second futex, and on the first.
 */
#include "ptest.h"
#include <linux/futex.h>
#include <sys/syscall.h>

static uint32_t from, to;

static long futex(uint32_t *addr, int op, uint32_t val, unsigned long val2)
{
	return syscall(SYS_futex, addr, op, val, val2, &to, 0);
}

static void *wait_there(void *arg UNUSED)
{
	futex(&from, FUTEX_WAIT_PRIVATE, 0, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;
	long second, first;

	start(argc, argv, NULL);
	t = spawn(wait_there, NULL);
	while (futex(&from, FUTEX_CMP_REQUEUE_PRIVATE, 0, 1) == 0)
		; /* it does not wait yet */
	ready();
	await_end();
	second = futex(&to, FUTEX_WAKE_PRIVATE, 1, 0);
	first = futex(&from, FUTEX_WAKE_PRIVATE, 1, 0);
	printf("%ld %ld\n", second, first);
	pthread_join(t, NULL);
	return done(0);
}
