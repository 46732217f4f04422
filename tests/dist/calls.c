/* SPDX-License-Identifier: MIT */
/*
 * libweft-mpi as a program uses it: the promise of each part, on any number of ranks. Rank 0 checks, and prints "N
 * passed, N failed" at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/dist.h>

static unsigned passed, failed;

static void check(int ok, const char *what) {
    if (ok)
        passed++;
    else
        failed++, fprintf(stderr, "failed: %s\n", what);
}

/* --- calls of any size ------------------------------------------------------------------------------------- */

/* Long enough that idle ranks take some calls. */
static void spin(uint64_t ns) {
    for (uint64_t end = weft_now() + ns; weft_now() < end;) {
    }
}

struct sum {
    uint64_t value, rank;
};

static void add_bytes(const void *arg, void *result) {
    const unsigned char *bytes = arg;
    struct sum *sum = result;
    uint64_t size;
    memcpy(&size, bytes, sizeof size);
    spin(50 * WEFT_MICROSECOND);
    for (uint64_t i = sizeof size; i < size; i++) sum->value += bytes[i];
    sum->rank = weft_dist_rank();
}
WEFT_REMOTE_FUNCTION(sum_of_bytes, add_bytes);

static void calls_of_any_size(void) {
    enum { CALLS = 200 };
    static const size_t sizes[] = {8, 9, 100, 4096, 32768, 100000, 1000000};
    struct weft_dist_call calls[CALLS];
    struct sum sums[CALLS];
    unsigned char *args[CALLS];
    uint64_t right = 0, elsewhere = 0;
    memset(sums, 0, sizeof sums);
    for (unsigned i = 0; i < CALLS; i++) {
        uint64_t size = sizes[i % 7];
        args[i] = malloc(size);
        memset(args[i], (int)i, size);
        memcpy(args[i], &size, sizeof size);
        check(!weft_dist_fork(&calls[i], &sum_of_bytes, args[i], size, &sums[i], sizeof sums[i]), "a fork");
    }
    for (unsigned i = CALLS; i-- > 0;) {
        check(!weft_dist_join(&calls[i]), "a join");
        right += sums[i].value == (sizes[i % 7] - 8) * (unsigned char)i;
        elsewhere += sums[i].rank != 0;
        free(args[i]);
    }
    check(right == CALLS, "sums of bytes");
    check(elsewhere > 0 || weft_dist_ranks() == 1, "other ranks took calls");
}

/* --- packed ------------------------------------------------------------------------------------------------- */

struct list {
    unsigned n;
    char **words;
};

static size_t list_size(const void *arg) {
    const struct list *list = arg;
    size_t size = 0;
    for (unsigned i = 0; i < list->n; i++) size += strlen(list->words[i]) + 1;
    return size;
}
static void list_pack(const void *arg, void *bytes) {
    const struct list *list = arg;
    for (unsigned i = 0; i < list->n; i++) bytes = stpcpy(bytes, list->words[i]) + 1;
}
static void *list_unpack(const void *bytes, size_t size) {
    struct list *list = calloc(1, sizeof *list);
    list->words = calloc(size + 1, sizeof *list->words);
    for (size_t at = 0; at < size; at += strlen((const char *)bytes + at) + 1)
        list->words[list->n++] = strdup((const char *)bytes + at);
    return list;
}
static void list_free(void *arg) {
    struct list *list = arg;
    for (unsigned i = 0; i < list->n; i++) free(list->words[i]);
    free(list->words);
    free(list);
}
/* The result: all words, joined. A pointer in memory, the bytes in messages. */
static size_t text_size(const void *result) { return strlen(*(char *const *)result) + 1; }
static void text_pack(const void *result, void *bytes) {
    strcpy(bytes, *(char *const *)result);
    free(*(char *const *)result);
}
static int text_unpack(void *result, const void *bytes, size_t size) {
    char *copy = malloc(size);
    if (!copy) return -ENOMEM;
    memcpy(copy, bytes, size);
    *(char **)result = copy;
    return 0;
}
static void join_words(const void *arg, void *result) {
    const struct list *list = arg;
    char *text = calloc(1, list_size(arg) + 1), *at = text;
    for (unsigned i = 0; i < list->n; i++) at = stpcpy(at, list->words[i]);
    spin(20 * WEFT_MICROSECOND);
    *(char **)result = text;
}
static struct weft_remote joined = {.name = "joined",
                                    .fn = join_words,
                                    .arg_size = list_size,
                                    .arg_pack = list_pack,
                                    .arg_unpack = list_unpack,
                                    .arg_free = list_free,
                                    .result_size = text_size,
                                    .result_pack = text_pack,
                                    .result_unpack = text_unpack};

static void packed_calls(void) {
    enum { CALLS = 100 };
    struct weft_dist_call calls[CALLS];
    char *words[] = {"all", " ", "for", " ", "one"}, *texts[CALLS] = {NULL};
    struct list list = {5, words};
    for (unsigned i = 0; i < CALLS; i++)
        check(!weft_dist_fork(&calls[i], &joined, &list, 0, &texts[i], sizeof texts[i]), "a fork");
    for (unsigned i = CALLS; i-- > 0;) {
        check(!weft_dist_join(&calls[i]) && texts[i] && !strcmp(texts[i], "all for one"), "a packed call");
        free(texts[i]);
    }
}

/* --- typed -------------------------------------------------------------------------------------------------- */

WEFT_VOID_REMOTE_1(nothing, int, n) {
    (void)n;
    spin(10 * WEFT_MICROSECOND);
}
struct wide {
    uint64_t a[6];
};
WEFT_REMOTE_2(struct wide, widen, uint32_t, from, uint32_t, n) {
    struct wide w = {{from, from + 1, from + 2, from + 3, from + 4, n}};
    if (n == 1) {
        spin(5 * WEFT_MICROSECOND);
        return w;
    }
    WEFT_SPAWN(nothing, 1);
    WEFT_SPAWN(widen, from, n / 2);
    struct wide right = WEFT_CALL(widen, from + n / 2, n - n / 2), left = WEFT_SYNC(widen);
    WEFT_SYNC(nothing);
    for (unsigned i = 0; i < 6; i++) w.a[i] = left.a[i] + right.a[i];
    return w;
}
static void typed_calls(void) {
    struct wide w = WEFT_RUN(widen, 0, 2000);
    uint64_t sum = 2000 * 1999 / 2;
    check(w.a[0] == sum && w.a[4] == sum + 4 * 2000 && w.a[5] == 2000, "typed calls with 48 bytes of result");
}

/* A call may block: here it sleeps, and waits for a channel of its rank. */
static void *post(void *sem) {
    weft_sleep_for(WEFT_MILLISECOND);
    weft_sem_post(sem);
    return NULL;
}
WEFT_REMOTE_1(int, blocks, int, n) {
    struct weft_sem sem = WEFT_SEM_INIT(0);
    if (n > 1) {
        WEFT_SPAWN(blocks, n / 2);
        int right = WEFT_CALL(blocks, n - n / 2);
        return WEFT_SYNC(blocks) + right;
    }
    struct weft_fiber fiber;
    if (weft_spawn(&fiber, NULL, post, &sem)) return -1000;
    int err = weft_sem_wait(&sem);
    if (!err) err = weft_join(fiber, NULL);
    return err ? -1000 : 1;
}
static void blocking_calls(void) { check(WEFT_RUN(blocks, 50) == 50, "calls that block"); }

/* --- loops, data, numbers --------------------------------------------------------------------------------------- */

static void squares(uint64_t begin, uint64_t end, const void *arg, void *result) {
    for (uint64_t i = begin; i < end; i++) *(uint64_t *)result += i * i + *(const uint64_t *)arg;
    spin(20 * WEFT_MICROSECOND);
}
static void add(void *into, const void *from) { *(uint64_t *)into += *(const uint64_t *)from; }
WEFT_REMOTE_LOOP(sum_of_squares, squares, add, sizeof(uint64_t));

static void loops(void) {
    uint64_t n = 10000, plus = 3, sum = 1;
    check(!weft_dist_reduce(&sum_of_squares, 0, n, 0, &plus, sizeof plus, &sum), "a loop");
    check(sum == (n - 1) * n * (2 * n - 1) / 6 + 3 * n, "its sum");
    check(!weft_dist_reduce(&sum_of_squares, 5, 5, 1, &plus, sizeof plus, &sum) && sum == 0, "an empty loop");
    check(!weft_dist_for(&sum_of_squares, 0, 100, 1, &plus, sizeof plus), "a loop without a result");
    check(weft_dist_for(&sum_of_squares, 1, 0, 1, &plus, sizeof plus) == -EINVAL, "a loop backwards");
}

static struct weft_dist_number best = WEFT_DIST_NUMBER_INIT("best"), count = WEFT_DIST_NUMBER_INIT("count");

static void uses_data(uint64_t begin, uint64_t end, const void *arg, void *result) {
    const void *bytes;
    struct weft_dist_data data;
    memcpy(&data, arg, sizeof data);
    if (weft_dist_data_get(data, &bytes)) return;
    for (uint64_t i = begin; i < end; i++) {
        *(uint64_t *)result += ((const unsigned char *)bytes)[i];
        weft_dist_count_add(&count, 1);
        weft_dist_max(&best, (int64_t)i);
        *(uint64_t *)result += (uint64_t)(weft_dist_commit(i % 100) == 1) << 32;
    }
}
WEFT_REMOTE_LOOP(data_user, uses_data, add, sizeof(uint64_t));

static void shared_things(void) {
    enum { SIZE = 300000, N = 400 };
    unsigned char *bytes = malloc(SIZE);
    struct weft_dist_data data;
    uint64_t sum = 0;
    int64_t n = 0;
    for (unsigned i = 0; i < SIZE; i++) bytes[i] = (unsigned char)(i % 7);
    uint64_t right = 0;
    for (unsigned i = 0; i < N; i++) right += bytes[i];
    check(!weft_dist_broadcast(&data, bytes, SIZE), "a broadcast");
    check(!weft_dist_reduce(&data_user, 0, N, 5, &data, sizeof data, &sum), "a loop over shared data");
    check((uint32_t)sum == right, "shared data");
    check(sum >> 32 == 100, "each key is committed once");
    check(!weft_dist_count_get(&count, &n) && n == N, "a shared count");
    check(weft_dist_max_get(&best) == N - 1, "a shared maximum");
    check(!weft_dist_count_add(&count, -N) && !weft_dist_count_wait(&count), "a count that is waited for");
    check(!weft_dist_broadcast_end(data), "the end of a broadcast");
    const void *none;
    check(weft_dist_data_get(data, &none) == -ESRCH, "data that have ended");
    free(bytes);
}

/* --- a rank of one's choice -------------------------------------------------------------------------------------- */

static void tell_rank(const void *arg, void *result) {
    *(unsigned *)result = weft_dist_rank() + *(const unsigned *)arg;
}
WEFT_REMOTE_FUNCTION(rank_teller, tell_rank);

/* More than a socket holds, and long to copy into the queue, so that the receiver makes room meanwhile. The bytes are
 * turned around, to see that each arrives. */
static void turn(const void *arg, void *result) {
    uint64_t size;
    memcpy(&size, arg, sizeof size);
    const char *from = (const char *)arg + sizeof size;
    for (uint64_t i = 0; i < size; i++) ((char *)result)[size - 1 - i] = from[i];
}
WEFT_REMOTE_FUNCTION(turner, turn);

static void large_calls(void) {
    uint64_t size = 32 << 20;
    char *arg = malloc(sizeof size + size), *result = malloc(size);
    memcpy(arg, &size, sizeof size);
    for (uint64_t i = 0; i < size; i++) arg[sizeof size + i] = (char)(i / 1000);
    for (unsigned i = 0; i < 8 * weft_dist_ranks(); i++) {
        memset(result, -1, size);
        check(!weft_dist_on(i % weft_dist_ranks(), &turner, arg, sizeof size + size, result, size), "a large call");
        uint64_t same = 0;
        for (uint64_t k = 0; k < size; k++) same += result[size - 1 - k] == arg[sizeof size + k];
        check(same == size, "the result of a large call");
    }
    free(arg);
    free(result);
}

static void chosen_ranks(void) {
    for (unsigned r = 0; r < weft_dist_ranks(); r++) {
        unsigned plus = 10, got = 0;
        struct weft_dist_stats stats;
        check(!weft_dist_on(r, &rank_teller, &plus, sizeof plus, &got, sizeof got) && got == r + 10,
              "a call on a rank");
        check(!weft_dist_stats_read(r, &stats) && stats.cpu_ns > 0, "statistics of a rank");
    }
    check(weft_dist_on(weft_dist_ranks(), &rank_teller, NULL, 0, NULL, 0) == -EINVAL, "a rank that is not there");
}

static void wrong_use(void) {
    struct weft_dist_call call;
    static struct weft_remote unknown = {.name = "unknown", .fn = tell_rank};
    check(weft_dist_fork(&call, NULL, NULL, 0, NULL, 0) == -EINVAL, "a fork of nothing");
    check(weft_dist_fork(&call, &unknown, NULL, 0, NULL, 0) == -ENOENT, "a fork of what is not registered");
    check(weft_dist_register(&unknown) == -EBUSY, "a late registration");
    check(weft_dist_find("joined") == &joined && !weft_dist_find("unknown"), "names");
    check(weft_dist_max(NULL, 1) == -EINVAL && weft_dist_stats_read(0, NULL) == -EINVAL, "NULL");
}

static int run(void *unused) {
    (void)unused;
    wrong_use();
    typed_calls();
    calls_of_any_size();
    packed_calls();
    blocking_calls();
    loops();
    shared_things();
    chosen_ranks();
    large_calls();
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}

int main(void) {
    struct weft_config runtime = WEFT_CONFIG_INIT;
    runtime.stack_size = 1 << 20;
    struct weft_dist_config config = WEFT_DIST_CONFIG_INIT;
    config.runtime = &runtime;
    if (weft_dist_register(&joined)) return 1;
    return weft_dist_run(run, NULL, &config) ? 1 : 0;
}
