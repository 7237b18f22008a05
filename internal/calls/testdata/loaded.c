/* loaded: a shared object that is loaded and unloaded. */
long loaded(long x);

static volatile long sink;

long loaded(long x)
{
	sink += x;
	return sink;
}
