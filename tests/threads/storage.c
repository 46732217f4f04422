/* SPDX-License-Identifier: MIT */
/* What belongs to a thread: thread-locals, errno, keys, locale, identity. Many threads that give way all the time. */
#define _GNU_SOURCE
#include "check.h"

#include <locale.h>
#include <sched.h>

enum { THREADS = 100, ROUNDS = 100 };
static __thread int number = 7;
static __thread char text[300];
static pthread_key_t key, late;
static int destroyed;

static void destroy(void *value) {
    CHECK(number == (int)(long)value);
    pthread_setspecific(late, value); /* another round */
    __atomic_fetch_add(&destroyed, 1, __ATOMIC_RELAXED);
}
static void destroy_late(void *value) {
    CHECK(value);
    __atomic_fetch_add(&destroyed, 1, __ATOMIC_RELAXED);
}

static void *keeps(void *arg) {
    int mine = (int)(long)arg;
    pthread_t self = pthread_self();
    locale_t c = newlocale(LC_ALL_MASK, "C", NULL);
    char *memory = malloc(100);
    CHECK(number == 7 && text[0] == 0);
    number = mine;
    memset(text, mine, sizeof text);
    memset(memory, mine, 100);
    CHECK(!pthread_setspecific(key, arg));
    uselocale(c);
    for (int i = 0; i < ROUNDS; i++) {
        errno = mine;
        sched_yield();
        CHECK(errno == mine && number == mine && text[200] == (char)mine && memory[99] == (char)mine);
        CHECK(pthread_equal(self, pthread_self()) && pthread_getspecific(key) == arg && uselocale(0) == c);
    }
    uselocale(LC_GLOBAL_LOCALE);
    freelocale(c);
    free(memory);
    return arg;
}

int main(void) {
    pthread_t t[THREADS];
    CHECK(!pthread_key_create(&key, destroy) && !pthread_key_create(&late, destroy_late));
    for (int round = 1; round <= 3; round++) {
        for (long i = 0; i < THREADS; i++) t[i] = start(keeps, (void *)(i + 1));
        for (long i = 0; i < THREADS; i++) CHECK((long)finish(t[i]) == i + 1);
        CHECK(__atomic_load_n(&destroyed, __ATOMIC_RELAXED) == 2 * THREADS * round);
    }
    CHECK(number == 7);
    return passed();
}
