/*
 * zoo: functions with arguments and results of many types. For each line that it reads it calls them all, and prints for each call what
 * pcalls is to show of it, a line each: "name: arguments" or "name: arguments = result". "end" ends the list.
 */
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <cinttypes>

#define KEEP extern "C" __attribute__((noinline, noclone, noipa))
#define TAKE(x) asm volatile("" : : "g"(x) : "memory")

enum color { RED, GREEN = 200, BLUE = -3 };
enum class size8 : unsigned char { SMALL = 1, LARGE = 250 };
struct pair { int a; short b; };
struct mixed { long a; double d; };
struct floats { float x, y; };
struct big { long a[4]; };
struct node { int id; const char *name; node *next; unsigned char kind; struct { int deep; } in; };
struct base { int first; };
struct derived : base { long second; };

KEEP int ints(int a, unsigned b, long c, unsigned long d, short e, unsigned short f, signed char g, long h, unsigned char i, long long j)
{ TAKE(b + d + e + f + g + i + j); return a + (int)c + (int)h; }
KEEP bool flags(bool yes, bool no, char letter) { TAKE(letter); return yes && !no; }
KEEP color colors(color c, size8 s) { TAKE(s); return c == RED ? BLUE : GREEN; }
KEEP const char *texts(const char *s, char *t, const char *none) { TAKE(s); TAKE(none); return t; }
KEEP pair pairs(pair p, pair *q, const pair &r) { p.a += q->a + r.a; return p; }
KEEP long mixes(mixed m, long after) { TAKE(m.d); return m.a + after; }
KEEP void nothing() { asm volatile("" ::: "memory"); }
KEEP double doubles(double x, int n, float y) { nothing(); return x * n + y; }
KEEP long floaty(floats f, int n) { TAKE(f.x); return n; }
KEEP long bigs(big b, int n) { return b.a[3] + n; }
KEEP big makes(int n) { return big{{n, n, n, n}}; }
KEEP void *pointers(void *p, node *n, int **q) { TAKE(q); TAKE(n); return p; }
KEEP size_t strings(const std::string &s, std::string_view v, const std::string *p) { return s.size() + v.size() + p->size(); }
KEEP size_t byvalue(std::string s, int n) { return s.size() + n; }
KEEP size_t uniques(std::unique_ptr<int> p, int n) { return *p + n; }
KEEP long classes(derived d, int n) { return d.first + d.second + n; }
KEEP __int128 wides(__int128 w, int n) { return w + n; }
KEEP long many(long a, long b, long c, long d, long e, long f, pair p, const char *s, int last) { TAKE(s); TAKE(p.a); return a + b + c + d + e + f + last; }
KEEP long walk(node *n) { return n ? n->id : -1; }

static const char longtext[] = "0123456789012345678901234567890123456789012345678901234567890123456789";

static void calls()
{
	node second = { 7, "second", nullptr, 200, { 70 } }, first = { -5, "first", &second, 3, { 30 } };
	int r = ints(-1, 4000000000u, -3, 1ul << 63, -5, 65535, -7, -8, 255, -10);
	printf("ints: a=-1, b=4000000000, c=-3, d=9223372036854775808, e=-5, f=65535, g=-7, h=-8, i=255, j=-10 = %d\n", r);
	printf("flags: yes=true, no=false, letter=120 'x' = %s\n", flags(true, false, 'x') ? "true" : "false");
	colors(RED, size8::LARGE);
	printf("colors: c=RED, s=LARGE = BLUE\n");
	char writable[] = "written\n";
	texts("read only", writable, nullptr);
	printf("texts: s=\"read only\", t=\"written\\n\", none=0x0 = \"written\\n\"\n");
	texts(longtext, writable, "");
	printf("texts: s=\"%.64s\"…, t=\"written\\n\", none=\"\" = \"written\\n\"\n", longtext);
	pair p = { 1, -2 }, q = { 3, 4 };
	pairs(p, &q, q);
	printf("pairs: p={a=1, b=-2}, q=%p, r=%p = {a=7, b=-2}\n", (void *)&q, (void *)&q);
	mixes(mixed{ 5, 1.5 }, 6);
	printf("mixes: m={a=5, d=?}, after=6 = 11\n");
	doubles(1.5, 3, 2.5f);
	printf("nothing: \n");
	printf("doubles: x=?, n=3, y=? = ?\n");
	floaty(floats{ 1, 2 }, 9);
	printf("floaty: f={x=?, y=?}, n=9 = 9\n");
	bigs(big{ { 1, 2, 3, 4 } }, 5);
	printf("bigs: b={a=[1, 2, 3, 4]}, n=5 = 9\n");
	makes(3);
	printf("makes: n=3 = ?\n");
	pointers(&p, &first, nullptr);
	printf("pointers: p=%p, n=%p, q=0x0 = %p\n", (void *)&p, (void *)&first, (void *)&p);
	nothing();
	printf("nothing: \n");
	std::string s = "short", l = "a string that is too long for its object";
	strings(s, "view", &l);
	printf("strings: s=\"short\", v=\"view\", p=\"%s\" = %zu\n", l.c_str(), s.size() + 4 + l.size());
	byvalue(l, 2);
	printf("byvalue: s=\"%s\", n=2 = %zu\n", l.c_str(), l.size() + 2);
	classes(derived{ { 1 }, 2 }, 3);
	printf("classes: d={{first=1}, second=2}, n=3 = 6\n");
	many(1, 2, 3, 4, 5, 6, p, "on the stack", 9);
	printf("many: a=1, b=2, c=3, d=4, e=5, f=6, p={a=1, b=-2}, s=\"on the stack\", last=9 = 30\n");
	walk(&first);
	printf("walk: n=%p = -5\n", (void *)&first);
	walk(&second);
	printf("walk: n=%p = 7\n", (void *)&second);
	walk(nullptr);
	printf("walk: n=0x0 = -1\n");
}

int main()
{
	puts("ready");
	fflush(stdout);
	char line[100];
	while (fgets(line, sizeof line, stdin)) {
		calls();
		puts("end");
		fflush(stdout);
	}
}
