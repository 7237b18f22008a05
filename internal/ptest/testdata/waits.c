/*
 * waits: the first thread holds a lock of each kind. For each lock there is a thread that wants it and has its name. With
 * the argument "deadlock N" there are N threads instead, each of which holds a mutex and wants that of the next. With
 * "crowd N" N threads want the same mutex. It prints "ready" when all wait.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __GLIBC__
#define PTHREAD_MUTEX_ADAPTIVE_NP PTHREAD_MUTEX_NORMAL
#endif

pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER, recursive, checking, adaptive, robust, inheriting, again;
static pthread_mutex_t hidden = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t writing = PTHREAD_RWLOCK_INITIALIZER, reading = PTHREAD_RWLOCK_INITIALIZER, reader = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER, woken = PTHREAD_COND_INITIALIZER;
sem_t semaphore;
pthread_barrier_t barrier;
static pthread_t other;
static int pipes[2], pair[2], listener, client, child, isawake;

static void init(pthread_mutex_t *m, int type, int isrobust, int protocol)
{
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, type);
	if (isrobust)
		pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setprotocol(&a, protocol);
	pthread_mutex_init(m, &a);
	pthread_mutex_lock(m);
}

#define MUTEXES(F) F(normal) F(recursive) F(checking) F(adaptive) F(robust) F(inheriting) F(hidden)
#define WANT(name) static void *want_##name(void *p) { prctl(PR_SET_NAME, #name); pthread_mutex_lock(&name); return p; }
MUTEXES(WANT)

static void *want_reading(void *p) { prctl(PR_SET_NAME, "reading"); pthread_rwlock_rdlock(&reading); return p; }
static void *want_writing(void *p) { prctl(PR_SET_NAME, "writing"); pthread_rwlock_wrlock(&writing); return p; }
static void *want_reader(void *p) { prctl(PR_SET_NAME, "reader"); pthread_rwlock_wrlock(&reader); return p; }
static void *want_semaphore(void *p) { prctl(PR_SET_NAME, "semaphore"); sem_wait(&semaphore); return p; }
static void *want_barrier(void *p) { prctl(PR_SET_NAME, "barrier"); pthread_barrier_wait(&barrier); return p; }
static void *want_thread(void *p) { prctl(PR_SET_NAME, "thread"); pthread_join(other, NULL); return p; }
static void *want_pipe(void *p) { char c; prctl(PR_SET_NAME, "pipe"); (void)!read(pipes[0], &c, 1); return p; }
static void *want_child(void *p) { prctl(PR_SET_NAME, "child"); waitpid(child, NULL, 0); return p; }
static void *want_stream(void *p) { char c; prctl(PR_SET_NAME, "stream"); (void)!read(pair[0], &c, 1); return p; }
static void *want_client(void *p) { char c; prctl(PR_SET_NAME, "client"); (void)!recv(client, &c, 1, 0); return p; }
static void *want_accept(void *p) { prctl(PR_SET_NAME, "accept"); accept(listener, NULL, NULL); return p; }
static void *want_events(void *p) { prctl(PR_SET_NAME, "events"); poll(NULL, 0, 3600 * 1000); return p; }
static void *want_condition(void *p)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	prctl(PR_SET_NAME, "condition");
	pthread_mutex_lock(&m);
	pthread_cond_wait(&condition, &m);
	return p;
}

static void *want_again(void *p) /* is woken, and its mutex is held */
{
	prctl(PR_SET_NAME, "again");
	pthread_mutex_lock(&again);
	__atomic_store_n(&isawake, 1, __ATOMIC_SEQ_CST);
	pthread_cond_wait(&woken, &again);
	return p;
}

static void start(void *(*f)(void *), void *arg)
{
	pthread_t t;
	pthread_create(&t, NULL, f, arg);
	if (f == want_semaphore)
		other = t;
}

/* asleep waits until every thread but this one sleeps in a call. */
static void asleep(int threads)
{
	char line[256];
	for (int all = 0; !all;) {
		FILE *p = popen("cat /proc/$PPID/task/*/syscall 2>/dev/null | grep -c -v running", "r");
		all = fgets(line, sizeof line, p) && atoi(line) > threads;
		pclose(p);
	}
}

/* connect_client makes a connection whose other end a child has, and a socket that listens. */
static void connect_client(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof a;

	listener = socket(AF_INET, SOCK_STREAM, 0);
	client = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&a, size) || listen(listener, 1) || getsockname(listener, (struct sockaddr *)&a, &size) ||
	    connect(client, (struct sockaddr *)&a, size) || accept(listener, NULL, NULL) < 0)
		perror("connection");
}

static pthread_mutex_t ring[16];
static pthread_barrier_t held;
static int members;

static void *member(void *p)
{
	long i = (long)p;
	pthread_mutex_lock(&ring[i]);
	pthread_barrier_wait(&held);
	pthread_mutex_lock(&ring[(i + 1) % members]);
	return p;
}

int main(int argc, char **argv)
{
	int threads = 0;
	if (argc > 2 && strcmp(argv[1], "crowd") == 0) {
		pthread_mutex_lock(&normal);
		for (threads = 0; threads < atoi(argv[2]); threads++)
			start(want_normal, NULL);
	} else if (argc > 2) {
		members = atoi(argv[2]);
		pthread_barrier_init(&held, NULL, members);
		for (long i = 0; i < members; i++, threads++)
			pthread_mutex_init(&ring[i], NULL), start(member, (void *)i);
	} else {
		init(&recursive, PTHREAD_MUTEX_RECURSIVE, 0, 0);
		init(&checking, PTHREAD_MUTEX_ERRORCHECK, 0, 0);
		init(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP, 0, 0);
		init(&robust, PTHREAD_MUTEX_NORMAL, 1, 0);
		init(&inheriting, PTHREAD_MUTEX_NORMAL, 0, PTHREAD_PRIO_INHERIT);
		pthread_mutex_lock(&normal);
		pthread_mutex_lock(&hidden);
		pthread_rwlock_wrlock(&reading);
		pthread_rwlock_wrlock(&writing);
		pthread_rwlock_rdlock(&reader);
		sem_init(&semaphore, 0, 0);
		pthread_barrier_init(&barrier, NULL, 2);
		(void)!pipe(pipes);
		(void)!socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
		connect_client();
		int named[2];
		char c = 0;
		(void)!pipe(named);
		if ((child = fork()) == 0) {
			close(pipes[0]);
			close(pair[0]);
			close(listener);
			close(client);
			prctl(PR_SET_PDEATHSIG, 9);
			prctl(PR_SET_NAME, "writer");
			(void)!write(named[1], &c, 1);
			close(named[0]);
			close(named[1]);
			pause();
			_exit(0);
		}
		close(pipes[1]);
		close(pair[1]);
		(void)!read(named[0], &c, 1); /* it has its name */
		close(named[0]);
		close(named[1]);
#define START(name) start(want_##name, NULL), threads++;
		MUTEXES(START)
		START(reading) START(writing) START(reader) START(semaphore) START(barrier) START(condition) START(thread) START(pipe) START(child)
		START(stream) START(client) START(accept) START(events)
		pthread_mutex_init(&again, NULL);
		START(again)
		while (!__atomic_load_n(&isawake, __ATOMIC_SEQ_CST))
			;
		pthread_mutex_lock(&again); /* it waits for the condition */
		pthread_cond_signal(&woken);
	}
	asleep(threads);
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
