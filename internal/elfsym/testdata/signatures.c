/* signatures: functions with parameters of many types, for the reading of their description. */
#include <stdio.h>

#define KEEP __attribute__((noinline, noclone, noipa))

enum color { RED, GREEN = 200, BLUE = -3 };
struct pair { int a; short b; };
struct big { long a[4]; };

KEEP int numbers(int a, unsigned long b, signed char c, enum color color, const char *s, double x, unsigned char last, long more)
{
	return printf("%d %lu %d %d %s %g %d %ld\n", a, b, c, color, s, x, last, more);
}

KEEP struct pair objects(struct pair p, struct big big, struct pair *q)
{
	p.a += big.a[1] + q->a;
	return p;
}

int main(void)
{
	struct pair p = { 1, 2 };
	struct big big = { { 5, 6, 7, 8 } };
	numbers(-1, 2, -3, BLUE, "text", 1.5, 255, -9);
	return objects(p, big, &p).a == 0;
}
