/*
 * jit: generates two functions at run time, jit_hot and jit_cold, names them in /tmp/perf-PID.map as
 * JIT compilers do, and spends 80 and 20 % of its time in them. The code keeps a frame pointer and has
 * no call frame information. It removes the map file when it ends by itself.
 */
#include "ptest.h"
#include "burn.h"

#if defined(__x86_64__)

/* push rbp; mov rbp, rsp; 1: dec rdi; jnz 1b; pop rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3 };

enum { HOT_AT = 0, COLD_AT = 64, SIZE = 4096 };

int main(int argc, char **argv)
{
	void (*hot)(uint64_t), (*cold)(uint64_t);
	char path[64];
	uint64_t n;
	char *page;
	FILE *f;

	start(argc, argv, NULL);
	page = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		die("mmap");
	memcpy(page + HOT_AT, code, sizeof code);
	memcpy(page + COLD_AT, code, sizeof code);
	if (mprotect(page, SIZE, PROT_READ | PROT_EXEC) != 0)
		die("mprotect");
	*(void **)&hot = page + HOT_AT;
	*(void **)&cold = page + COLD_AT;
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	if ((f = fopen(path, "we")) == NULL)
		die(path);
	fprintf(f, "%llx %zx jit_hot\n%llx %zx jit_cold with spaces\n", (unsigned long long)(uintptr_t)hot, sizeof code,
		(unsigned long long)(uintptr_t)cold, sizeof code);
	fclose(f);
	ready();
	for (n = 0; count == 0 ? !over() : n < count; n++) {
		uint64_t t0 = cpu_now(), t1;

		hot(400000);
		t1 = cpu_now();
		cold(100000);
		atomic_fetch_add(&truth->share[0], t1 - t0);
		atomic_fetch_add(&truth->share[1], cpu_now() - t1);
		atomic_fetch_add(&truth->work, 1);
	}
	unlink(path);
	return done(n);
}
#else
int main(void)
{
	return 4;
}
#endif
