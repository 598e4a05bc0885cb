/* A lost wake-up: the waiter looks at the flag, and waits for a signal that may have been sent in between. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile int is_ready;

static void *wake(void *unused) {
    usleep(200000); /* the waiter has long been waiting by then, on any machine that is not stuck */
    is_ready = 1;   /* wrong: without the lock */
    pthread_cond_signal(&changed);
    return unused;
}

int main(void) {
    pthread_t waker;
    struct timespec limit;
    pthread_create(&waker, NULL, wake, NULL);
    for (int i = 0; i < 800; i++) getppid(); /* what it does before takes next to no time */
    int result = 0;
    if (!is_ready) {
        for (int i = 0; i < 40; i++) getppid(); /* as by a line of a log */
        pthread_mutex_lock(&lock);
        clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_sec += 5;
        result = pthread_cond_timedwait(&changed, &lock, &limit);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(waker, NULL);
    if (result == ETIMEDOUT) puts("the wake-up was lost");
    return result == ETIMEDOUT ? 9 : 0;
}
