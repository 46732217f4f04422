/* SPDX-License-Identifier: MIT */
/* Values of a thread: thread-locals, errno, keys, locale, identity. Many threads yield all the time. */
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

/* More keys than the first level of glibc's table holds: values of all of them are destroyed. */
enum { KEYS = 100 };
static pthread_key_t many[KEYS];
static int destroyed_many;
static void destroy_one(void *value) {
    CHECK(value);
    __atomic_fetch_add(&destroyed_many, 1, __ATOMIC_RELAXED);
}
static void *sets_many(void *arg) {
    for (long i = 0; i < KEYS; i++)
        CHECK(!pthread_getspecific(many[i]) && !pthread_setspecific(many[i], (void *)(i + 1)));
    sched_yield();
    for (long i = 0; i < KEYS; i++) CHECK(pthread_getspecific(many[i]) == (void *)(i + 1));
    return arg;
}
static void many_keys(void) {
    for (int i = 0; i < KEYS; i++) CHECK(!pthread_key_create(&many[i], destroy_one));
    for (int round = 1; round <= 5; round++) {
        finish(start(sets_many, NULL));
        CHECK(__atomic_load_n(&destroyed_many, __ATOMIC_RELAXED) == round * KEYS);
    }
    for (int i = 0; i < KEYS; i++) CHECK(!pthread_key_delete(many[i]));
}

int main(void) {
    pthread_t t[THREADS];
    many_keys();
    CHECK(!pthread_key_create(&key, destroy) && !pthread_key_create(&late, destroy_late));
    for (int round = 1; round <= 3; round++) {
        for (long i = 0; i < THREADS; i++) t[i] = start(keeps, (void *)(i + 1));
        for (long i = 0; i < THREADS; i++) CHECK((long)finish(t[i]) == i + 1);
        CHECK(__atomic_load_n(&destroyed, __ATOMIC_RELAXED) == 2 * THREADS * round);
    }
    CHECK(number == 7);
    return passed();
}
