// A fixed chain of calls, main > outer > middle > inner, and at its end all kinds of
// leaves: assembler of the C library, PLT entries, the vDSO, a callback from the
// library, a realigned stack, a function without a frame. The same in a thread.
#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile unsigned long sink;
static char from[5000], to[5000];

NOINLINE unsigned long leaf(unsigned long n)
{
	unsigned long s = n;
	for (int i = 0; i < 300; i++)
		s = s * 6364136223846793005UL + 1442695040888963407UL;
	return s;
}

NOINLINE int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return x < y ? -1 : x > y;
}

NOINLINE void sort(void)
{
	int v[64];
	for (int i = 0; i < 64; i++)
		v[i] = (i * 37) % 64;
	qsort(v, 64, sizeof v[0], compare);
	sink += v[3];
}

#ifdef NO_REALIGN
#define ALIGNED
#else
#define ALIGNED alignas(64)
#endif

NOINLINE void realigned(int n)
{
	ALIGNED char a[256];
	char *b = __builtin_alloca(n);
	memset(a, n, sizeof a);
	memset(b, n, n);
	sink += a[n] + b[n / 2] + leaf(n);
}

NOINLINE void copy(void)
{
	memcpy(to, from, sizeof to);
	sink += strlen(from) + (strchr(from, 'z') != 0) + memcmp(from, to, sizeof to);
}

NOINLINE void clocks(void)
{
	struct timespec t;
	for (int i = 0; i < 20; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
	sink += t.tv_nsec;
}

NOINLINE void print(void)
{
	char b[100];
	sink += snprintf(b, sizeof b, "%d %s %f", 17, "text", 3.25);
}

NOINLINE void heap(void)
{
	char *p[20];
	for (int i = 0; i < 20; i++)
		p[i] = malloc(40 * i);
	for (int i = 0; i < 20; i++)
		free(p[i]);
}

NOINLINE void inner(int i)
{
	switch (i % 8) {
	case 0: sink += leaf(i); break;
	case 1: sort(); break;
	case 2: realigned(100 + i % 100); break;
	case 3: copy(); break;
	case 4: clocks(); break;
	case 5: print(); break;
	case 6: heap(); break;
	case 7: for (int k = 0; k < 200; k++) sink += k; break;
	}
	sink++;
}

NOINLINE void middle(int i) { inner(i); sink++; }
NOINLINE void outer(int i) { middle(i); sink++; }

static void *thread(void *arg)
{
	for (int i = 0;; i++)
		outer(i);
	return arg;
}

int main(void)
{
	memset(from, 'a', sizeof from - 1);
	pthread_t t;
	pthread_create(&t, 0, thread, 0);
	puts("ready");
	fflush(stdout);
	for (int i = 0;; i++)
		outer(i);
}
