static inline int inner(int v) { return v * 31 + 7; }
static inline int middle(int v) { return inner(v) ^ inner(v + 1); }
__attribute__((noinline)) int outer(int v) { return middle(v) + 1; }
void _start(void) {
	for (;;)
		outer(1);
}
