/*
 * briefcreator: creates a thread in make, and ends at once.
 */
#include <pthread.h>
#include <unistd.h>

static void *sleeper(void *arg)
{
	pause();
	return arg;
}

__attribute__((noinline, noclone)) static int make(void)
{
	pthread_t t;
	int err = pthread_create(&t, NULL, sleeper, NULL);

	__asm__ volatile(""); /* no tail call */
	return err;
}

int main(void)
{
	_exit(make() != 0);
}
