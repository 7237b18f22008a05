/*
 * initplugin: a plugin for dlchurn with a constructor, which calls plugin_begin and, with glibc, the
 * indirect function plugin_choice.
 */
#include <features.h>

static volatile int began;

__attribute__((noinline)) void plugin_begin(void) { began++; }

#ifdef __GLIBC__
static int chosen(int x) { return x + 1; }

static void *choose(void) { return (void *)chosen; }

int plugin_choice(int x) __attribute__((ifunc("choose")));
#endif

__attribute__((constructor)) static void begin(void)
{
	plugin_begin();
#ifdef __GLIBC__
	began = plugin_choice(began);
#endif
}

int plugin_call(int x) { return x + 1; }
