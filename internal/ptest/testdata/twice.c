/*
 * twice: maps its own text a second time, and calls a function in either mapping. Each byte of standard input is an order:
 *   o  call the function where it was loaded
 *   m  map its text again
 *   s  the same, MAP_SHARED
 *   w  the same, so that it can be written
 *   c  call it in the second mapping
 *   r  move the second mapping (mremap)
 *   u  unmap it
 * An order is answered by a line with its letter and the address of the second mapping's function, 0 without one.
 */
#include "ptest.h"
#include <link.h>
#include <sys/mman.h>

/* The function needs nothing outside the text. */
__attribute__((noinline, used)) int twice_called(int k)
{
	volatile int n = k;

	return n + 1;
}

static uintptr_t begin, size, off; /* of the text */

static int text(struct dl_phdr_info *in, size_t n UNUSED, void *arg UNUSED)
{
	for (int i = 0; i < in->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &in->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		begin = (in->dlpi_addr + p->p_vaddr) & ~(uintptr_t)4095;
		off = p->p_offset & ~(uintptr_t)4095;
		size = (p->p_memsz + 8191) & ~(uintptr_t)4095;
	}
	return 1; /* the program is the first one */
}

static char *map(int prot, int flags)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *m = mmap(NULL, size, PROT_READ | PROT_EXEC | prot, flags, fd, (off_t)off);

	close(fd);
	if (fd < 0 || m == MAP_FAILED)
		die("mmap");
	return m;
}

int main(int argc, char **argv)
{
	char *copy = NULL, order;
	int (*volatile f)(int);

	start(argc, argv, NULL);
	dl_iterate_phdr(text, NULL);
	ready();
	while (read(0, &order, 1) == 1) {
		uintptr_t in = (uintptr_t)twice_called - begin;
		char *to;

		switch (order) {
		case 'o':
			(f = twice_called)(1);
			break;
		case 'm':
			copy = map(0, MAP_PRIVATE);
			break;
		case 's':
			copy = map(0, MAP_SHARED);
			break;
		case 'w':
			copy = map(PROT_WRITE, MAP_PRIVATE);
			break;
		case 'c':
			(f = (int (*)(int))(copy + in))(1);
			break;
		case 'r':
			to = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if ((copy = mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to)) == MAP_FAILED)
				die("mremap");
			break;
		case 'u':
			munmap(copy, size);
			copy = NULL;
			break;
		default:
			continue;
		}
		printf("%c %#lx\n", order, copy ? (unsigned long)(copy + in) : 0);
		fflush(stdout);
	}
	return 0;
}
