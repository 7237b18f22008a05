/*
 * uringopen: has a worker of io_uring open a FIFO, which waits there for a writer. For a line of standard input it opens the FIFO for
 * writing, and prints the result of the request. It prints "none" where the kernel lets it have no io_uring.
 */
#include "uring.h"

int main(int argc, char **argv)
{
	struct io_uring_params p = { 0 };
	int fd = syscall(SYS_io_uring_setup, 4, &p), writer = -1;
	const char *fifo = argv[1];
	struct io_uring_cqe *done_as;
	char line[8], *sq, *cq;

	(void)argc;
	if (fd < 0) {
		puts("none");
		return 0;
	}
	if (mkfifo(fifo, 0600) < 0)
		die("mkfifo");
	sq = shared(fd, p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	cq = shared(fd, p.cq_off.cqes + p.cq_entries * sizeof *done_as, IORING_OFF_CQ_RING);
	*(struct io_uring_sqe *)shared(fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES) = (struct io_uring_sqe){
		.opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = (uintptr_t)fifo, .open_flags = O_RDONLY, .flags = IOSQE_ASYNC,
	};
	*(unsigned *)(sq + p.sq_off.array) = 0;
	(*(_Atomic unsigned *)(sq + p.sq_off.tail))++;
	if (syscall(SYS_io_uring_enter, fd, 1, 0, 0, NULL, 0) != 1)
		die("io_uring_enter");
	puts("ready");
	fflush(stdout);
	(void)!read(0, line, sizeof line);
	done_as = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
	do
		writer = writer < 0 ? open(fifo, O_WRONLY | O_NONBLOCK) : writer; /* fails while nobody waits for it */
	while (!*(_Atomic unsigned *)(cq + p.cq_off.tail) && usleep(1000) == 0);
	printf("%s\n", done_as->res >= 0 ? "opened" : "failed");
	return 0;
}
