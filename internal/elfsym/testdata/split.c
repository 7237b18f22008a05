/*
 * GCC splits both functions behind their first return, as their first part may be inlined elsewhere. Then it inlines the rest
 * where it was. recursive is also inlined in itself: that is a call.
 */
extern long out(const char *, long);
char single;
int error;

long split(const char *p, long n)
{
	long r;

	if (__builtin_expect(single, 1))
		return n;
	r = out(p, n);
	if (r < 0) {
		error = (int)-r;
		r = -1;
	}
	r += out(p + 1, n + 1) * 3;
	return r + out(p + 2, n + 4);
}

long (*volatile hook)(const char *, long) = split;

long recursive(long n)
{
	if (n < 2)
		return out(0, n);
	return out(0, n) * recursive(n - 2) + recursive(n - 1);
}

long __attribute__((noinline)) out(const char *p, long n)
{
	__asm__ volatile("" : "+r"(n), "+r"(p));
	return n;
}

int main(void)
{
	return (int)(hook("", 1) + recursive(9));
}
