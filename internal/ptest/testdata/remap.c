/*
 * remap: has a page of code, whose address is on its first line. The page is private or, with -k FILE, that of a
 * file (MAP_SHARED). Commands are letters on standard input; each is answered by a line. c: call the code; d: map data
 * there that has the same bytes; r: map the code there again; w: write another instruction; k: make a child call the
 * code; v: print "ok" if every byte is as last written, otherwise "changed". The checksum is the number of calls.
 */
#include "ptest.h"
#include "children.h"

/* push %rbp; mov %rsp, %rbp; pop %rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3 };
static unsigned char want[4096];
static unsigned char *page;
static int file = -1;

static void map(int prot)
{
	int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	unsigned char *p;

	if (page != NULL)
		munmap(page, sizeof want);
	p = mmap(page, sizeof want, prot | PROT_READ | PROT_WRITE, flags | (page != NULL ? MAP_FIXED : 0), file, 0);
	if (p == MAP_FAILED)
		die("mmap");
	page = p;
	memset(want, 0xc3, sizeof want);
	memcpy(want, code, sizeof code);
	memcpy(page, want, sizeof want);
}

static void open_file(int letter, const char *value)
{
	if (letter == 'k' && ((file = open(value, O_RDWR | O_CREAT, 0600)) < 0 || ftruncate(file, sizeof want) != 0))
		die(value);
}

int main(int argc, char **argv)
{
	uint64_t calls = 0;
	pid_t pid;
	char c;

	start(argc, argv, open_file);
	map(PROT_EXEC);
	printf("%p\n", (void *)page);
	ready();
	while (read(0, &c, 1) == 1) {
		const char *answer = "ok";

		switch (c) {
		case 'c':
			((void (*)(void))(uintptr_t)page)();
			calls++;
			break;
		case 'd': map(0); break;
		case 'r': map(PROT_EXEC); break;
		case 'w': page[0] = want[0] = 0x90; break;
		case 'k':
			if ((pid = fork()) == 0) {
				((void (*)(void))(uintptr_t)page)();
				_exit(7);
			}
			reap(pid, 7);
			break;
		case 'v':
			if (memcmp(page, want, sizeof want) != 0)
				answer = "changed";
			break;
		default:
			continue;
		}
		puts(answer);
		fflush(stdout);
	}
	return done(calls);
}
