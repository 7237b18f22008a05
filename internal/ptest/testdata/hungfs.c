/*
 * hungfs DIR FILE NAME: mounts a file system at DIR in which FILE can be read under NAME, and prints "ready". After the
 * line "hang" on standard input it leaves every read of the file unanswered, after "hang open" every open(2) instead, and after
 * "hang create" every open(2) that makes a file, after "hang statfs" every statfs(2). It prints "asked" each time. When standard input ends the file system is unmounted, and all waits for it fail.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOT = 1, FILE_ID = 2, FOREVER = 1000000 };

static int fuse, file;
static const char *name;
static struct stat st;
static char request[1 << 18], data[1 << 18];
static uint32_t hangs; /* the operation that is left unanswered, or 0 */

static void cannot(const char *what)
{
	fprintf(stderr, "hungfs: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void reply(const struct fuse_in_header *in, int error, const void *body, size_t n)
{
	struct fuse_out_header out = { .len = (uint32_t)(sizeof out + n), .error = -error, .unique = in->unique };
	char all[sizeof out + sizeof data];

	memcpy(all, &out, sizeof out);
	if (n > 0)
		memcpy(all + sizeof out, body, n);
	if (write(fuse, all, out.len) < 0 && errno != ENOENT) /* ENOENT: its caller was killed */
		perror("hungfs: write");
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr a = { .ino = node, .mode = S_IFDIR | 0755, .nlink = 2, .blksize = 4096 };

	if (node == FILE_ID) {
		a.mode = S_IFREG | 0755;
		a.nlink = 1;
		a.size = (uint64_t)st.st_size;
		a.blocks = (a.size + 511) / 512;
	}
	return a;
}

static void answer(const struct fuse_in_header *in, const void *arg)
{
	switch (in->opcode) {
	case FUSE_INIT: {
		/* SIGKILL ends a reader's wait for a page that is being read by readahead. */
		struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_readahead = 1 << 16,
			.flags = FUSE_ASYNC_READ, .max_write = 1 << 17, .max_background = 16 };

		reply(in, 0, &out, sizeof out);
		return;
	}
	case FUSE_LOOKUP: {
		struct fuse_entry_out out = { .nodeid = FILE_ID, .entry_valid = FOREVER, .attr_valid = FOREVER, .attr = attributes(FILE_ID) };

		if (in->nodeid == ROOT && strcmp(arg, name) == 0)
			reply(in, 0, &out, sizeof out);
		else
			reply(in, ENOENT, NULL, 0);
		return;
	}
	case FUSE_GETATTR: {
		struct fuse_attr_out out = { .attr_valid = FOREVER, .attr = attributes(in->nodeid) };

		reply(in, 0, &out, sizeof out);
		return;
	}
	case FUSE_OPEN:
	case FUSE_OPENDIR: {
		struct fuse_open_out out = { .open_flags = FOPEN_KEEP_CACHE };

		reply(in, 0, &out, sizeof out);
		return;
	}
	case FUSE_READ: {
		const struct fuse_read_in *r = arg;
		ssize_t n = pread(file, data, r->size < sizeof data ? r->size : sizeof data, (off_t)r->offset);

		reply(in, n < 0 ? EIO : 0, data, n < 0 ? 0 : (size_t)n);
		return;
	}
	case FUSE_STATFS: {
		struct fuse_statfs_out out = { .st = { .bsize = 4096, .namelen = 255 } };

		reply(in, 0, &out, sizeof out);
		return;
	}
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
	case FUSE_ACCESS:
		reply(in, 0, NULL, 0);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		reply(in, ENOSYS, NULL, 0);
	}
}

static void serve(void)
{
	ssize_t n = read(fuse, request, sizeof request);
	const struct fuse_in_header *in = (const void *)request;

	if (n < (ssize_t)sizeof *in)
		return; /* ENOENT: taken back */
	if (in->opcode == hangs) {
		puts("asked");
		return;
	}
	answer(in, request + sizeof *in);
}

/* Reports false at the end of standard input. */
static int obey(void)
{
	char line[16];

	if (fgets(line, sizeof line, stdin) == NULL)
		return 0;
	hangs = strcmp(line, "hang open\n") == 0 ? FUSE_OPEN : strcmp(line, "hang create\n") == 0 ? FUSE_CREATE :
		strcmp(line, "hang statfs\n") == 0 ? FUSE_STATFS : FUSE_READ;
	puts("hangs");
	return 1;
}

int main(int argc, char **argv)
{
	char options[128];

	if (argc != 4)
		return 2;
	name = argv[3];
	if ((file = open(argv[2], O_RDONLY | O_CLOEXEC)) < 0 || fstat(file, &st) != 0) {
		perror(argv[2]);
		return 1;
	}
	if ((fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC)) < 0)
		cannot("/dev/fuse");
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fuse);
	if (mount("hungfs", argv[1], "fuse", 0, options) != 0)
		cannot("mount");
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	for (;;) {
		struct pollfd p[2] = { { .fd = fuse, .events = POLLIN }, { .fd = STDIN_FILENO, .events = POLLIN } };

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		if (p[1].revents != 0 && !obey())
			break;
		if (p[0].revents & POLLIN)
			serve();
		else if (p[0].revents != 0)
			break; /* unmounted */
	}
	umount2(argv[1], MNT_DETACH);
	return 0; /* with the last descriptor of /dev/fuse all that waits ends */
}
