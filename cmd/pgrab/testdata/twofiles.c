/* twofiles: its functions are lines of two source files of one name. first is called twice, second three times. */
#line 10 "a/util.c"
__attribute__((noinline)) int first(int n) {
	return n + 1;
}
#line 10 "b/util.c"
__attribute__((noinline)) int second(int n) {
	return n + 2;
}
#line 50 "twofiles.c"
int main(int argc, char **argv)
{
	int n = argc;

	(void)argv;
	for (int i = 0; i < 3; i++)
		n = second(i < 2 ? first(n) : n);
	return n == 0;
}
