/*
 * moved: moves the text of an object into other memory, as programs do that want it in huge pages, and works on in the
 * function leaf, which branch calls. -o OBJECT: moves the text that has main (m), puts (l: the C library) or the run-time
 * linker (i). -k HOW: 0: anonymous memory is mapped over it, and filled; 1: filled memory is moved over it; 2: a memfd is
 * mapped over it; 3: nothing is moved, but the page of leaf is replaced by other code (of the same length).
 * -f FILE: FILE is mapped over it, which has the text behind its first page.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

volatile unsigned long sink;

__attribute__((noinline, aligned(4096), section(".text.leaf"))) void leaf(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
	sink++;
}

__attribute__((noinline)) void branch(void)
{
	leaf(100000);
	sink++;
}

static inline long call(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;

	__asm__ volatile("syscall" : "=a"(ret) : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		: "rcx", "r11", "memory");
	return ret;
}

/* Runs in a copy, and calls nothing. */
__attribute__((noinline, aligned(4096), section(".text.move"))) static void move(char *to, size_t n, char *copy, int how, int fd, long off)
{
	switch (how) {
	case 0:
		call(SYS_mmap, (long)to, n, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		__asm__ volatile("rep movsb" : "+D"((char *){to}), "+S"((char *){copy}), "+c"((size_t){n}) : : "memory");
		call(SYS_mprotect, (long)to, n, PROT_READ | PROT_EXEC, 0, 0, 0);
		break;
	case 1:
		call(SYS_mprotect, (long)copy, n, PROT_READ | PROT_EXEC, 0, 0, 0);
		call(SYS_mremap, (long)copy, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, (long)to, 0);
		break;
	case 2:
		call(SYS_mmap, (long)to, n, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, off);
		break;
	}
}

struct range {
	unsigned long in, start, end;
};

static int segment(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct range *r = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		unsigned long start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && r->in >= start && r->in < start + p->p_memsz) {
			r->start = start & -4096ul;
			r->end = (start + p->p_filesz + 4095) & -4096ul;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct range r = {0};
	int c, how = 0, fd = -1;
	char object = 'm', *file = NULL;
	long off = 0;

	while ((c = getopt(argc, argv, "o:k:f:")) != -1) {
		if (c == 'o')
			object = *optarg;
		else if (c == 'k')
			how = atoi(optarg);
		else
			file = optarg, how = 2, off = 4096;
	}
	r.in = object == 'm' ? (unsigned long)main : (unsigned long)puts;
	if (object == 'i')
		r.in = getauxval(AT_BASE) + ((ElfW(Ehdr) *)getauxval(AT_BASE))->e_entry;
	dl_iterate_phdr(segment, &r);
	size_t n = r.end - r.start;
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, (void *)move, 2048);
	if (how == 3) {
		static const unsigned char spin[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3}; /* dec %rdi; jne; ret */
		char *page = (char *)((unsigned long)leaf & -4096ul);

		munmap(page, 4096);
		mmap(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		memset(page, 0xcc, 4096);
		memcpy(page, spin, sizeof spin);
	} else {
		char *copy;
		if (how == 2) {
			fd = file ? open(file, O_RDWR | O_CREAT, 0600) : memfd_create("text", 0);
			if (ftruncate(fd, off + n) != 0)
				return 1;
			copy = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off);
		} else {
			copy = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		}
		memcpy(copy, (void *)r.start, n);
		((void (*)(char *, size_t, char *, int, int, long))code)((char *)r.start, n, copy, how, fd, off);
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		branch();
		if (object != 'm')
			syscall(SYS_getppid); /* of the C library */
	}
}
