/*
 * unserved -k KIND: half of a range of pages never comes (userfaultfd) before a line is read from standard input. It
 * prints where that half begins. A thread leads readers of its stack there: -k spin runs, with a frame pointer into
 * these pages; -k sleep sleeps, with its stack right below them; -k linkmap works, while the name of a link map is there.
 * -k none has no such thread. With -x and three pages of text a page of the command line never comes, too.
 */
#include "ptest.h"
#include <link.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

enum { PAGE = 4096, PAGES = 32, HALF = PAGES / 2 * PAGE };

static const char *kind = "none";
static const char *text;
static char *range;

static void extra(int letter, const char *value)
{
	if (letter == 'k')
		kind = value;
	if (letter == 'x')
		text = value;
}

NOINLINE static void below(void)
{
	for (;;)
		pause();
}

static void *lead(void *arg)
{
	if (strcmp(kind, "spin") == 0) {
		unsigned char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

#ifdef __aarch64__
		memcpy(code, "\0\x04\0\x91\xff\xff\xff\x17", 8); /* add x0, x0, #1; b to it */
		__builtin___clear_cache((char *)code, (char *)code + 8);
		__asm__ volatile("mov x29, %0\n\tmov sp, %2\n\tbr %1"
			: : "r"(range + HALF + 64), "r"(code), "r"(range + HALF / 2) : "memory");
#else
		memcpy(code, "\x48\xff\xc0\xeb\xfb", 5); /* inc %rax; jmp to it */
		__asm__ volatile("mov %0, %%rbp\n\tmov %2, %%rsp\n\tjmp *%1"
			: : "r"(range + HALF + 64), "r"(code), "r"(range + HALF / 2) : "memory");
#endif
	}
	if (strcmp(kind, "sleep") == 0)
		CALL_ON(range + HALF - 64, below);
	for (volatile unsigned n = 0;; n++)
		;
	return arg;
}

int main(int argc, char **argv)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg;
	struct uffdio_zeropage zero;
	pthread_t thread;
	char line[16];
	int uffd;

	start(argc, argv, extra);
	range = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(range, 1, HALF);
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) != 0)
		die("userfaultfd");
	reg = (struct uffdio_register){ .range = { (uintptr_t)range + HALF, HALF }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	if (ioctl(uffd, UFFDIO_REGISTER, &reg) != 0)
		die("UFFDIO_REGISTER");
	if (text != NULL) {
		reg.range = (struct uffdio_range){ ((uintptr_t)text + PAGE) & -PAGE, PAGE };
		if (ioctl(uffd, UFFDIO_REGISTER, &reg) != 0 || madvise((void *)reg.range.start, PAGE, MADV_DONTNEED) != 0)
			die("UFFDIO_REGISTER of the command line");
	}
	if (strcmp(kind, "linkmap") == 0)
		_r_debug.r_map->l_name = range + HALF + 8;
	if (strcmp(kind, "none") != 0 && pthread_create(&thread, NULL, lead, NULL) != 0)
		die("pthread_create");
	ready();
	printf("%lu\n", (unsigned long)(uintptr_t)(range + HALF));
	fflush(stdout);
	while (read(0, line, sizeof line) > 0) {
		zero = (struct uffdio_zeropage){ .range = { (uintptr_t)range + HALF, HALF } };
		if (ioctl(uffd, UFFDIO_ZEROPAGE, &zero) != 0)
			die("UFFDIO_ZEROPAGE");
	}
	return 0;
}
