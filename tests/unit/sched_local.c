/* SPDX-License-Identifier: MIT */
/* Fiber-local values, on threads: the table of keys and the values behind it. */
#include "../test.h"

#include <pthread.h>

static int destroyed;
static void *last_destroyed;
static void destroy(void *value) {
    destroyed++;
    last_destroyed = value;
}

static int one, two, three;

static void on_thread(void *(*fn)(void *), void *arg) {
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, fn, arg));
    CHECK(!pthread_join(thread, NULL));
}

TEST(a_value_is_the_threads_own) {
    struct weft_key key, other;
    CHECK_EQ(weft_key_create(&key, NULL), 0);
    CHECK_EQ(weft_key_create(&other, NULL), 0);
    CHECK(!weft_local_get(key));
    CHECK_EQ(weft_local_set(key, &one), 0);
    CHECK(weft_local_get(key) == &one);
    CHECK(!weft_local_get(other));
    CHECK_EQ(weft_local_set(key, NULL), 0);
    CHECK(!weft_local_get(key));
}

static void *sees_nothing(void *arg) {
    struct weft_key *key = arg;
    CHECK(!weft_local_get(*key));
    CHECK_EQ(weft_local_set(*key, &two), 0);
    CHECK(weft_local_get(*key) == &two);
    return NULL;
}

TEST(destroyed_when_the_thread_ends) {
    struct weft_key key;
    CHECK_EQ(weft_key_create(&key, destroy), 0);
    CHECK_EQ(weft_local_set(key, &one), 0);
    on_thread(sees_nothing, &key);
    CHECK_EQ(destroyed, 1);
    CHECK(last_destroyed == &two);
    CHECK(weft_local_get(key) == &one);
}

TEST(as_many_keys_as_promised) {
    struct weft_key key[WEFT_KEYS_MAX], more;
    for (unsigned i = 0; i < WEFT_KEYS_MAX; i++) CHECK_EQ(weft_key_create(&key[i], NULL), 0);
    for (unsigned i = 0; i < WEFT_KEYS_MAX; i++)
        for (unsigned k = 0; k < i; k++) CHECK(key[i].index != key[k].index);
    CHECK_EQ(weft_key_create(&more, NULL), -EAGAIN);
    for (unsigned i = 0; i < WEFT_KEYS_MAX; i++) CHECK_EQ(weft_local_set(key[i], (char *)&one + i % 4), 0);
    for (unsigned i = 0; i < WEFT_KEYS_MAX; i++) CHECK(weft_local_get(key[i]) == (char *)&one + i % 4);
    CHECK_EQ(weft_key_delete(key[17]), 0);
    CHECK_EQ(weft_key_create(&more, NULL), 0);
    CHECK(more.index != key[17].index);
    CHECK(!weft_local_get(more)); /* the value of the key that was there before is gone */
    CHECK(!weft_local_get(key[17]));
    CHECK_EQ(weft_local_set(key[17], &one), -EINVAL);
    CHECK_EQ(weft_key_delete(key[17]), -EINVAL);
    CHECK(weft_local_get(key[16]) != NULL);
}

TEST(what_is_no_key) {
    struct weft_key none = {0}, wild = {~0u}, real;
    CHECK_EQ(weft_key_create(&real, NULL), 0);
    struct weft_key near = {real.index + 1}, older = {real.index + (1u << 8)};
    const struct weft_key bad[] = {none, wild, near, older};
    for (unsigned i = 0; i < 4; i++) {
        CHECK(!weft_local_get(bad[i]));
        CHECK_EQ(weft_local_set(bad[i], &one), -EINVAL);
        CHECK_EQ(weft_key_delete(bad[i]), -EINVAL);
    }
    CHECK_EQ(weft_key_create(NULL, NULL), -EINVAL);
}

static void *sets_and_deletes(void *arg) {
    struct weft_key *key = arg;
    CHECK_EQ(weft_local_set(*key, &one), 0);
    CHECK_EQ(weft_key_delete(*key), 0);
    return NULL;
}

TEST(a_deleted_key_destroys_nothing) {
    struct weft_key key;
    CHECK_EQ(weft_key_create(&key, destroy), 0);
    on_thread(sets_and_deletes, &key);
    CHECK_EQ(destroyed, 0);
}

static struct weft_key keys[3];
static unsigned again;

/* Sets another value, which then must be destroyed, too. */
static void destroy_and_set(void *value) {
    destroyed++;
    if (value == &one) CHECK_EQ(weft_local_set(keys[1], &two), 0);
}
static void destroy_for_ever(void *value) {
    again++;
    weft_local_set(keys[2], value);
}
static void *sets_three(void *arg) {
    (void)arg;
    CHECK_EQ(weft_local_set(keys[0], &one), 0);
    /* ThreadSanitizer takes a thread down before the last round of destructors. */
    if (!TEST_TSAN) CHECK_EQ(weft_local_set(keys[2], &three), 0);
    return NULL;
}

TEST(a_destructor_may_set_again) {
    CHECK_EQ(weft_key_create(&keys[0], destroy_and_set), 0);
    CHECK_EQ(weft_key_create(&keys[1], destroy_and_set), 0);
    CHECK_EQ(weft_key_create(&keys[2], destroy_for_ever), 0);
    on_thread(sets_three, NULL);
    CHECK_EQ(destroyed, 2);
    CHECK(TEST_TSAN || (again >= 2 && again < 100)); /* a few rounds, and an end */
}

/* Keys made and deleted by several at once: a key that was made works until its deletion. */
static void *make_and_delete(void *arg) {
    (void)arg;
    for (size_t i = test_size(20000); i > 0; i--) {
        struct weft_key key;
        int err = weft_key_create(&key, destroy);
        CHECK(err == 0);
        CHECK(!weft_local_get(key));
        CHECK_EQ(weft_local_set(key, &key), 0);
        CHECK(weft_local_get(key) == &key);
        CHECK_EQ(weft_local_set(key, NULL), 0);
        CHECK_EQ(weft_key_delete(key), 0);
    }
    return NULL;
}

TEST(keys_from_several_threads) {
    pthread_t thread[4];
    for (unsigned i = 0; i < 4; i++) CHECK(!pthread_create(&thread[i], NULL, make_and_delete, NULL));
    for (unsigned i = 0; i < 4; i++) CHECK(!pthread_join(thread[i], NULL));
    CHECK_EQ(destroyed, 0);
}
