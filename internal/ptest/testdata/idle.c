/*
 * idle: -t threads that wait for ever, a quarter each in futex, poll, nanosleep and epoll_wait, until
 * standard input ends. The page counts the EINTRs that they see.
 */
#include "ptest.h"
#include "idle.h"

int main(int argc, char **argv)
{
	start(argc, argv, NULL);
	idle_start(threads);
	ready();
	await_end();
	return done((uint64_t)threads);
}
