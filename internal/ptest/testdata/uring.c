/*
 * uring: has a worker of io_uring, a thread of the kernel in this process, read much of /dev/zero, and works itself in between.
 * It prints "none" where the kernel lets it have no io_uring.
 */
#include "uring.h"

enum { READS = 4, SIZE = 1 << 20 };

static char into[READS][SIZE];

NOINLINE void work_itself(void)
{
	static volatile long sink;

	for (long i = 0; i < 2000000; i++)
		sink = i;
}

int main(int argc, char **argv)
{
	struct io_uring_params p = { 0 };
	int fd = syscall(SYS_io_uring_setup, 2 * READS, &p), zero = open("/dev/zero", O_RDONLY);
	char *sq, *cq;
	struct io_uring_sqe *entries;
	_Atomic unsigned *tail, *head, *done_until;
	unsigned mask, *order;

	start(argc, argv, NULL);
	if (fd < 0) {
		puts("none");
		return 0;
	}
	sq = shared(fd, p.sq_off.array + p.sq_entries * sizeof *order, IORING_OFF_SQ_RING);
	cq = shared(fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	entries = shared(fd, p.sq_entries * sizeof *entries, IORING_OFF_SQES);
	tail = (_Atomic unsigned *)(sq + p.sq_off.tail);
	order = (unsigned *)(sq + p.sq_off.array);
	mask = *(unsigned *)(sq + p.sq_off.ring_mask);
	head = (_Atomic unsigned *)(cq + p.cq_off.head);
	done_until = (_Atomic unsigned *)(cq + p.cq_off.tail);
	for (int first = 1; !over(); first = 0) {
		for (int i = 0; i < READS; i++) {
			unsigned at = *tail & mask;

			entries[at] = (struct io_uring_sqe){
				.opcode = IORING_OP_READ, .fd = zero, .addr = (uintptr_t)into[i], .len = SIZE, .flags = IOSQE_ASYNC,
			};
			order[at] = at;
			(*tail)++;
		}
		syscall(SYS_io_uring_enter, fd, READS, READS, IORING_ENTER_GETEVENTS, NULL, 0);
		*head = *done_until;
		if (first)
			ready();
		work_itself();
	}
	return done(0);
}
