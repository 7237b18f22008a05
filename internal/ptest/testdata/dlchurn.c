/*
 * dlchurn: -t threads dlopen, call and dlclose a plugin -n times each. Every -p PATH names a plugin;
 * thread i uses path i modulo their number, so with one path a thread every dlopen loads and every
 * dlclose unloads. With -m each dlopen goes into a new namespace (dlmopen). The checksum is the number
 * of calls.
 */
#include "ptest.h"
#include "children.h"
#include <dlfcn.h>

static const char *path[64];
static int paths, namespaces;

static void extra(int letter, const char *value)
{
	if (letter == 'p' && paths < 64)
		path[paths++] = value;
	if (letter == 'm')
		namespaces = 1;
}

NOINLINE static void *load(const char *file)
{
#ifdef LM_ID_NEWLM
	if (namespaces)
		return dlmopen(LM_ID_NEWLM, file, RTLD_NOW);
#endif
	return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

static void *churn(void *arg)
{
	const char *file = path[(uintptr_t)arg % (unsigned)paths];
	uint64_t n;

	for (n = 0; more(n); n++) {
		void *h = load(file);
		int (*call)(int);

		if (h == NULL) {
			wrong("%s", dlerror());
			break;
		}
		*(void **)&call = dlsym(h, "plugin_call");
		if (call == NULL || call((int)n) != (int)n + 1)
			wrong("plugin_call(%d)", (int)n);
		if (dlclose(h) != 0)
			wrong("%s", dlerror());
		atomic_fetch_add(&truth->work, 1);
	}
	return (void *)(uintptr_t)n;
}

int main(int argc, char **argv)
{
	start(argc, argv, extra);
	if (paths == 0) {
		fprintf(stderr, "dlchurn: no -p\n");
		return 2;
	}
	ready();
	return done(in_threads(churn));
}
