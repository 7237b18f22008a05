/*
 * calls: -t threads call functions -n times in all. -f KIND chooses the function (push) by the
 * instruction at its symbol f_KIND; calls.S has them. -f many calls many_0 to many_49 in turn, -f all
 * every kind in turn. The result of each call is compared; the program prints "calls N" and, as its
 * checksum, the sum of the results. With -l it prints the kinds.
 */
#include "ptest.h"
#include "children.h"

#if defined(__x86_64__)

enum { MANY = 50, SYS_GETPPID = 110 };

#define KINDS_BY_ENTRY(F)                                                                      \
	F(push) F(ret) F(jcc) F(ripmov) F(ripstore) F(ripcmp) F(riplea) F(call) F(callmem)     \
	F(callreg) F(jmp) F(jmpmem) F(jmpreg) F(jrcxz) F(syscall) F(nop) F(longnop) F(endbr)   \
	F(movss) F(cpuid) F(rdtsc) F(sse) F(pushf) F(lockinc) F(xchg) F(movrr) F(lea)          \
	F(subrsp) F(addflags) F(fs)
#define KINDS_INSIDE(F) F(popf) F(pop) F(leave) F(retn) F(repstos)

#define DECLARE_F(name) extern const char f_##name[];
#define DECLARE_ENTRY(name) extern const char entry_##name[];
#define ROW_F(name) { #name, f_##name },
#define ROW_ENTRY(name) { #name, entry_##name },

KINDS_BY_ENTRY(DECLARE_F)
KINDS_INSIDE(DECLARE_ENTRY)
extern const char *const many_table[MANY];
extern uint64_t parent;
extern _Atomic uint64_t locked;

static const struct kind {
	const char *name;
	const void *entry;
} kinds[] = { KINDS_BY_ENTRY(ROW_F) KINDS_INSIDE(ROW_ENTRY) };

enum { NKINDS = sizeof kinds / sizeof kinds[0] };

static const void *turn[64]; /* the functions that are called in turn */
static uint64_t preset[64];  /* the value of rax at the call; 0: the result */
static unsigned turns;
static uint64_t stack_segment;
static int list;

static uint64_t call(const void *entry, uint64_t x, uint64_t rax)
{
	register const void *f __asm__("r12") = entry;
	uint64_t di = x, si = stack_segment, dx = (uintptr_t)f_lea, cx = 0;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n" /* spares the red zone */
			 "testb $1, %%dil\n"
			 "call *%[f]\n"
			 "lea 128(%%rsp), %%rsp\n"
			 : "+a"(rax), "+D"(di), "+S"(si), "+d"(dx), "+c"(cx)
			 : [f] "r"(f)
			 : "rbx", "r8", "r9", "r10", "r11", "xmm0", "memory", "cc");
	return rax;
}

static void *caller(void *arg)
{
	uint64_t mine = count / (unsigned)threads + ((uintptr_t)arg < count % (unsigned)threads), x, sum = 0;

	for (x = 0; count == 0 ? x % 256 != 0 || !over() : x < mine; x++) {
		unsigned i = x % turns;
		uint64_t got = call(turn[i], x, preset[i] == 0 ? x + 1 : preset[i] - 1);

		if (got != x + 1)
			wrong("function %u of %llu returned %llu", i, (unsigned long long)x, (unsigned long long)got);
		sum += got;
		atomic_fetch_add_explicit(&truth->work, 1, memory_order_relaxed);
	}
	atomic_fetch_add(&truth->kind[0], x);
	return (void *)(uintptr_t)sum;
}

static void add(const char *name, const void *entry)
{
	if (strcmp(name, "syscall") == 0)
		preset[turns] = SYS_GETPPID + 1;
	if (strcmp(name, "cpuid") == 0)
		preset[turns] = 0 + 1;
	turn[turns++] = entry;
}

static void extra(int letter, const char *value)
{
	int i;

	if (letter == 'l')
		list = 1;
	if (letter != 'f')
		return;
	for (i = 0; i < MANY && strcmp(value, "many") == 0; i++)
		add(value, many_table[i]);
	for (i = 0; i < NKINDS; i++)
		if (strcmp(value, kinds[i].name) == 0 || strcmp(value, "all") == 0)
			add(kinds[i].name, kinds[i].entry);
	if (turns == 0) {
		fprintf(stderr, "calls: no kind %s\n", value);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	uint64_t sum;
	int i;

	__asm__("mov %%ss, %0" : "=r"(stack_segment));
	parent = (uint64_t)getppid();
	start(argc, argv, extra);
	for (i = 0; list && i < NKINDS; i++)
		puts(kinds[i].name);
	if (list)
		return 0;
	if (turns == 0)
		add("push", f_push);
	ready();
	sum = in_threads(caller);
	printf("calls %llu\n", (unsigned long long)truth->kind[0]);
	return done(sum);
}
#else
int main(void)
{
	return 4;
}
#endif
