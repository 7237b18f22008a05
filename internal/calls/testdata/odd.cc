/*
 * odd: functions whose arguments are passed in unusual ways. For each line that it reads it calls them all, and prints for each call a
 * line of fields with tabs between them: the function, each argument and the result as pcalls is to show them. A field that begins with ~ may be unknown too.
 */
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <emmintrin.h>

#define KEEP extern "C" __attribute__((noinline, noclone, noipa))
#define TAKE(x) asm volatile("" : : "g"(x) : "memory")

struct pair { int a, b; };
struct big { int v[10]; };
struct empty {};
struct behind { empty e; long x; };
struct base { int x; };
struct shadowed : base { int x; };
struct moved {
	long v;
	moved(long n) : v(n) {}
	moved(const moved &) = delete;
	moved(moved &&) = default;
};
struct vectors { __m128i v; };
enum kind { ONE = 1, TWO };

KEEP int wide(const std::wstring &s, std::u16string_view v, int k) { TAKE(&s); return (int)v.size() + k; }
KEEP int nulls(const std::string *s, const std::string_view *v, int k) { TAKE(s); TAKE(v); return k; }
KEEP long gap(behind b, long y) { TAKE(b.x); return y; }
KEEP int nothing(const char *s, std::nullptr_t n, int k) { TAKE(s); TAKE(n); return k; }
KEEP long moves(moved m, long k) { TAKE(m.v); return k; }
KEEP int couples(std::pair<int, int> p, int k) { TAKE(p.first); return p.second + k; }
KEEP int simd(vectors s, int x, const char *t) { TAKE(&s); TAKE(t); return x; }
KEEP int vec(__m128i v, int x) { TAKE(&v); return x; }
KEEP vectors makes(int a, int b) { return vectors{ _mm_set_epi32(0, b, 0, a) }; }
KEEP int elsewhere(pair p, big b, kind k, int n) { TAKE(p.a); TAKE(b.v[0]); TAKE(k); return n; }
KEEP big fills(pair p, int n) { big b = {}; b.v[0] = p.a + n; return b; }
KEEP int shadow(const shadowed &d) { return d.x; }
KEEP int refers(const int &n, char *&t) { TAKE(t); return n; }
struct typedefed { using self = typedefed; int a; typedefed(int n) : a(n) {} typedefed(const self &o) : a(o.a) {} };
union united { float f; double d; united() : f(1) {} united(const united &o) : d(o.d) {} };
struct deleted { int a; deleted(int n) : a(n) {} deleted(const deleted &) = delete; };
struct holds { deleted d; int z; };
struct extended { long double x; };
template <class... A> __attribute__((noinline, noclone, noipa)) int packed(int a, A... b, int z) { return a * 100 + z; }
KEEP int copies(typedefed d, int z) { TAKE(d.a); return z; }
KEEP typedefed creates(int n, int k) { return typedefed(n + k); }
KEEP int unites(united u, int z) { TAKE(u.f); return z; }
KEEP int owns(holds h, int a) { TAKE(h.z); return a; }
KEEP extended extends(int a, int b) { return extended{ (long double)(a + b) }; }
KEEP int small(int n) { return -n; }
KEEP void returns() {}

static void calls()
{
	std::wstring w = L"hello";
	char text[] = "text", *t = text;
	shadowed d;
	d.x = 2;
	d.base::x = 1;
	int n = 5;
	std::u16string_view v = u"four";
	wide(w, v, 3);
	printf("wide\t%p\t~{_M_len=4, _M_str=%p}\t~3\t7\n", (void *)&w, (void *)v.data());
	nulls(nullptr, nullptr, 9);
	printf("nulls\t0x0\t0x0\t9\t9\n");
	nulls((std::string *)0x10, (std::string_view *)0x10, 9);
	printf("nulls\t0x10 ?\t0x10 ?\t9\t9\n");
	gap(behind{ {}, 77 }, 88);
	printf("gap\t~{e={}, x=77}\t~88\t88\n");
	nothing("x", nullptr, 3);
	printf("nothing\t\"x\"\t0x0\t3\t3\n");
	moves(moved(11), 4);
	printf("moves\t~{v=11}\t~4\t4\n");
	couples({ 3, -4 }, 5);
	printf("couples\t~{{}, first=3, second=-4}\t~5\t1\n");
	simd(vectors{ _mm_set1_epi32(1) }, 42, "text");
	printf("simd\t~{v=[1, 1]}\t~42\t~\"text\"\t42\n");
	vec(_mm_set1_epi32(1), 43);
	printf("vec\t~[1, 1]\t43\t43\n");
	makes(6, 5);
	printf("makes\t~6\t~5\t~{v=[6, 5]}\n");
	elsewhere(pair{ 1, 2 }, big{ { 7 } }, TWO, 4);
	printf("elsewhere\t~{a=1, b=2}\t~{v=[7, 0, 0, 0, 0, 0, 0, 0, …]}\t~TWO\t~4\t4\n");
	fills(pair{ 1, 2 }, 3);
	printf("fills\t~{a=1, b=2}\t~3\t~{v=[4, 0, 0, 0, 0, 0, 0, 0, …]}\n");
	typedefed c(1);
	copies(c, 9);
	printf("copies\t~@\t~9\t9\n");
	creates(5, 6);
	printf("creates\t~5\t~6\t~{a=11}\n");
	unites(united(), 9);
	printf("unites\t~@\t~9\t9\n");
	owns({ deleted(1), 2 }, 5);
	printf("owns\t~{d={a=1}, z=2}\t~5\t5\n");
	extends(1, 2);
	printf("extends\t~1\t~2\t?\n");
	packed<int, int>(1, 2, 3, 4);
	printf("int packed<int, int>(int, int, int, int)\t1\t2\t3\t4\t104\n");
	shadow(d);
	printf("shadow\t%p\t2\n", (void *)&d);
	refers(n, t);
	printf("refers\t%p\t%p\t5\n", (void *)&n, (void *)&t);
	returns();
	small(3);
	printf("small\t3\t-3\n");
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
