/*
 * keys: functions whose calls are told apart and summed. For each line that it reads it calls them and prints what it has counted
 * itself, a line for each key: "what|key|calls|calls with a sum|sum". "end" ends the list.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone, noipa))

enum color { RED, GREEN = 200, BLUE = -3 };
struct item { int id; unsigned short kind; enum color color; };

static struct { char what[16], key[80]; long calls, summed; __int128 sum; } rows[400];
static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void tally(const char *what, const char *key, int summed, __int128 n)
{
	pthread_mutex_lock(&lock);
	int i = 0;
	while (i < count && (strcmp(rows[i].what, what) || strcmp(rows[i].key, key)))
		i++;
	if (i == count)
		strcpy(rows[count].what, what), strcpy(rows[count++].key, key);
	rows[i].calls++;
	if (summed)
		rows[i].summed++, rows[i].sum += n;
	pthread_mutex_unlock(&lock);
}

static const char *decimal(__int128 n)
{
	static char text[60];
	char *p = text + sizeof text - 1;
	unsigned __int128 u = n < 0 ? -n : n;
	do {
		*--p = '0' + u % 10;
	} while (u /= 10);
	if (n < 0)
		*--p = '-';
	return p;
}

KEEP int pay(int amount, const char *who, struct item *it) { return it ? amount % 3 - 1 + it->id * 0 : 1000; }
KEEP long large(long n, unsigned long u) { return n + (long)u; }
KEEP long wide(long n) { return n; }
KEEP int first(int amount, const char *who, struct item *it) { return pay(amount, who, it) + 1; }
KEEP int second(int amount, const char *who, struct item *it) { return pay(amount, who, it) + 2; }

static const char *const names[] = { "\"ann\"", "\"\"", "\"a name of 32 bytes, to the last.\"", "\"one of 33 bytes, with its last l\"…" };
static char texts[4][64] = { "ann", "", "a name of 32 bytes, to the last.", "one of 33 bytes, with its last let" };
static struct item items[3] = { { -7, 3, RED }, { 8, 60000, GREEN }, { 9, 1, BLUE } };
static const char *const colors[] = { "RED", "GREEN", "BLUE" };

static sem_t paid;

static void pays(long offset)
{
	char me[40], key[40];
	pthread_getname_np(pthread_self(), key, sizeof key);
	snprintf(me, sizeof me, "%d %s", gettid(), key);
	for (int i = offset; i < 600; i += 3) {
		int amount = i * 7 % 50 - 20;
		struct item *it = i % 10 == 9 ? NULL : &items[i % 3];
		int r = i % 5 ? first(amount, texts[i % 4], it) - 1 : second(amount, texts[i % 4], it) - 2;
		snprintf(key, sizeof key, "%d", amount);
		tally("amount", key, it != NULL, it ? (long)amount * it->kind - 3 : 0);
		tally("who", names[i % 4], 1, amount);
		tally("color", it ? colors[i % 3] : "?", 1, 2 * amount);
		tally("caller", i % 5 ? "first" : "second", 1, -amount);
		tally("thread", me, 1, r);
		snprintf(key, sizeof key, "%d", r);
		tally("return", key, 1, amount);
		tally("return both", key, 1, r);
	}
}

/* A thread stays, so that it has a name. */
static void *stays(void *offset)
{
	pthread_setname_np(pthread_self(), (long)offset == 1 ? "another" : "a third");
	pays((long)offset);
	sem_post(&paid);
	for (;;)
		pause();
}

int main(void)
{
	static const long numbers[] = { LONG_MAX, LONG_MIN, -1, 1, 1L << 32, LONG_MAX };
	char line[100];
	pthread_t t;
	sem_init(&paid, 0, 0);
	puts("ready");
	fflush(stdout);
	pthread_setname_np(pthread_self(), "the first");
	while (fgets(line, sizeof line, stdin)) {
		count = 0;
		for (long i = 1; i < 3; i++)
			pthread_create(&t, NULL, stays, (void *)i);
		pays(0);
		sem_wait(&paid);
		sem_wait(&paid);
		for (int i = 0; i < 6; i++) {
			long n = numbers[i], result;
			unsigned long u = (unsigned long)numbers[5 - i];
			large(n, u);
			tally("n", "", 1, n);
			tally("u", "", u <= LONG_MAX, u);
			int over = __builtin_mul_overflow(n, n, &result);
			tally("n * n", "", !over, result);
			over = __builtin_mul_overflow(n, -1, &result);
			tally("n * -1", "", !over, result);
			over = __builtin_add_overflow(n, n, &result);
			tally("n + n", "", !over, result);
			over = __builtin_sub_overflow(-5, n, &result);
			tally("-5 - n", "", !over, result);
		}
		if (line[0] == 'w')
			for (long n = 0; n < 1000; n++)
				wide(n);
		for (int i = 0; i < count; i++)
			printf("%s|%s|%ld|%ld|%s\n", rows[i].what, rows[i].key, rows[i].calls, rows[i].summed, decimal(rows[i].sum));
		puts("end");
		fflush(stdout);
	}
}
