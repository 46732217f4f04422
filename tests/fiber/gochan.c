/* SPDX-License-Identifier: MIT */
/*
 * The programs that test Go's channels, written anew: test/chan (sieve1, sieve2, fifo, nonblock, select*,
 * doubleselect, goroutines, powser1, zerosize, sendstmt) and the runtime's chan_test.
 */
#include "fiber.h"

#include <stdlib.h>
#include <string.h>

static struct weft_chan *ints(size_t capacity) {
    struct weft_chan *c = weft_chan_make(sizeof(int), capacity);
    CHECK(c);
    return c;
}
static void put(struct weft_chan *c, int x) { CHECK_EQ(weft_chan_send(c, &x), 0); }
static int get(struct weft_chan *c) {
    int x;
    CHECK_EQ(weft_chan_recv(c, &x), 0);
    return x;
}

/* --- sieve1, sieve2: a filter a prime --------------------------------------------------------------------- */

struct filter {
    struct weft_chan *in, *out;
    int prime;
};
static void *counts_up(void *out) {
    for (int i = 2; !weft_chan_send(out, &i); i++) continue; /* until it is closed */
    return NULL;
}
static void *filters(void *arg) {
    struct filter *f = arg;
    for (int i; !weft_chan_recv(f->in, &i);)
        if (i % f->prime && weft_chan_send(f->out, &i)) break;
    weft_chan_close(f->in); /* back to the source */
    return NULL;
}
static void sieve(size_t capacity) {
    enum { PRIMES = 60 };
    static const int last = 281; /* the sixtieth */
    struct filter f[PRIMES];
    struct weft_fiber fiber[PRIMES + 1];
    struct weft_chan *c = ints(capacity);
    fiber[PRIMES] = spawn(counts_up, c);
    int prime = 0;
    for (int i = 0; i < PRIMES; i++) {
        prime = get(c);
        f[i] = (struct filter){c, ints(capacity), prime};
        fiber[i] = spawn(filters, &f[i]);
        c = f[i].out;
    }
    CHECK_EQ(prime, last);
    CHECK_EQ(weft_chan_close(c), 0);
    for (int i = 0; i <= PRIMES; i++) join(fiber[i]);
    for (int i = 0; i < PRIMES; i++) CHECK_EQ(weft_chan_free(f[i].in), 0);
    CHECK_EQ(weft_chan_free(c), 0);
}
static void sieve1(void *unused) { (void)unused, sieve(0); }
static void sieve2(void *unused) { (void)unused, sieve(50); }
TEST_WITHIN(sieve1, 60) { each_size(sieve1); }
TEST_WITHIN(sieve2, 60) { each_size(sieve2); }

/* --- fifo -------------------------------------------------------------------------------------------------- */

static void asynchronous_fifo(void *unused) {
    (void)unused;
    struct weft_chan *c = ints(10);
    for (int i = 0; i < 10; i++) put(c, i);
    for (int i = 0; i < 10; i++) CHECK_EQ(get(c), i);
    CHECK_EQ(weft_chan_free(c), 0);
}
struct link {
    struct weft_chan *c, *in, *out;
    int value;
};
static void *chained(void *arg) {
    struct link *l = arg;
    get(l->in);
    CHECK_EQ(get(l->c), l->value);
    put(l->out, 1);
    return NULL;
}
static void synchronous_fifo(void *unused) {
    (void)unused;
    enum { N = 10 };
    struct weft_chan *c = ints(0), *in = ints(0), *first = in;
    struct link l[N];
    struct weft_fiber f[N];
    for (int i = 0; i < N; i++) {
        l[i] = (struct link){c, in, ints(0), i};
        f[i] = spawn(chained, &l[i]);
        in = l[i].out;
    }
    put(first, 0);
    for (int i = 0; i < N; i++) put(c, i);
    get(in);
    for (int i = 0; i < N; i++) {
        join(f[i]);
        CHECK_EQ(weft_chan_free(l[i].in), 0);
    }
    CHECK_EQ(weft_chan_free(in), 0);
    CHECK_EQ(weft_chan_free(c), 0);
}
TEST(fifo) {
    each_size(asynchronous_fifo);
    each_size(synchronous_fifo);
}

/* --- nonblock ----------------------------------------------------------------------------------------------- */

static void *receives_one(void *c) { return (void *)(intptr_t)get(c); }
static void *sends_one(void *c) { return put(c, 123), NULL; }
static void nonblock(void *unused) {
    (void)unused;
    for (size_t capacity = 0; capacity < 3; capacity++) {
        struct weft_chan *c = ints(capacity);
        int x = 7;
        CHECK_EQ(weft_chan_recv_try(c, &x), -EAGAIN);
        struct weft_fiber f = spawn(receives_one, c);
        while (weft_chan_send_try(c, &x)) weft_yield();
        CHECK_EQ((intptr_t)join(f), 7);
        f = spawn(sends_one, c);
        while (weft_chan_recv_try(c, &x)) weft_yield();
        CHECK_EQ(x, 123);
        join(f);
        for (size_t i = 0; i < capacity; i++) CHECK_EQ(weft_chan_send_try(c, &x), 0);
        CHECK_EQ(weft_chan_send_try(c, &x), -EAGAIN);
        CHECK_EQ(weft_chan_len(c), capacity);
        CHECK_EQ(weft_chan_free(c), 0);
    }
}
TEST(nonblock) { each_size(nonblock); }

/* --- goroutines: a number through ten thousand, each adds one ------------------------------------------------- */

static void *adds_one(void *link) {
    struct link *l = link;
    put(l->out, get(l->in) + 1);
    return NULL;
}
static void goroutines(void *unused) {
    (void)unused;
    int n = (int)test_fibers(10000);
    struct link *l = calloc((size_t)n, sizeof *l);
    struct weft_fiber *f = calloc((size_t)n, sizeof *f);
    struct weft_chan *leftmost = ints(0), *in = leftmost;
    for (int i = 0; i < n; i++) {
        l[i].in = in;
        in = l[i].out = ints(0);
        f[i] = spawn(adds_one, &l[i]);
    }
    put(leftmost, 0);
    CHECK_EQ(get(in), n);
    for (int i = 0; i < n; i++) {
        join(f[i]);
        weft_chan_free(l[i].in);
    }
    weft_chan_free(in);
    free(l);
    free(f);
}
TEST_WITHIN(goroutines, 60) { each_size(goroutines); }

/* --- select3: what blocks for ever, and what never does -------------------------------------------------------- */

static void select3(void *unused) {
    (void)unused;
    struct weft_chan *open = ints(0), *closed = ints(0), *full = ints(1);
    int x = 0;
    put(full, 1);
    CHECK_EQ(weft_chan_close(closed), 0);
    uint64_t soon = weft_now() + WEFT_MILLISECOND;
    struct weft_case none = WEFT_ZERO, null_send = WEFT_CASE_SEND(NULL, &x), null_recv = WEFT_CASE_RECV(NULL, &x),
                     send = WEFT_CASE_SEND(open, &x), recv = WEFT_CASE_RECV(open, &x),
                     to_full = WEFT_CASE_SEND(full, &x), from_closed = WEFT_CASE_RECV(closed, &x),
                     to_closed = WEFT_CASE_SEND(closed, &x);
    struct weft_case waits[] = {none, null_send, null_recv, send, recv, to_full};
    CHECK_EQ(weft_case_select_until(NULL, 0, soon), -ETIMEDOUT);
    for (unsigned i = 0; i < 6; i++) CHECK_EQ(weft_case_select_until(&waits[i], 1, soon), -ETIMEDOUT);
    CHECK_EQ(weft_case_select_until(waits, 6, soon), -ETIMEDOUT);
    CHECK_EQ(weft_case_select_try(waits, 6), -EAGAIN);
    struct weft_case goes[] = {null_recv, recv, from_closed};
    for (int i = 0; i < 10; i++) CHECK_EQ(weft_case_select(goes, 3), 2);
    goes[2] = to_closed;
    for (int i = 0; i < 10; i++) CHECK_EQ(weft_case_select(goes, 3), 2);
    CHECK_EQ(goes[2].result, -EPIPE);
    CHECK_EQ(weft_chan_free(open), 0);
    CHECK_EQ(weft_chan_free(closed), 0);
    CHECK_EQ(weft_chan_free(full), 0);
}
TEST(select3) { each_size(select3); }

/* --- doubleselect: every item of a select over the same channel four times comes once --------------------------- */

static struct weft_chan *c1, *c2, *c3, *c4;
static void *sends_in_order(void *unused) {
    for (int i = 0; i < (int)test_size(20000); i++) {
        struct weft_case cases[] = {WEFT_CASE_SEND(c1, &i), WEFT_CASE_SEND(c2, &i), WEFT_CASE_SEND(c3, &i),
                                    WEFT_CASE_SEND(c4, &i)};
        CHECK(weft_case_select(cases, 4) >= 0);
    }
    CHECK_EQ(weft_chan_close(c1), 0);
    return unused;
}
static void doubleselect(void *unused) {
    (void)unused;
    c1 = c2 = c3 = c4 = ints(0);
    struct weft_fiber f = spawn(sends_in_order, NULL);
    int expected = 0, x = -1;
    for (;; expected++) {
        struct weft_case cases[] = {WEFT_CASE_RECV(c1, &x), WEFT_CASE_RECV(c1, &x)};
        if (cases[weft_case_select(cases, 2)].result) break;
        CHECK_EQ(x, expected); /* not twice, none left out */
    }
    CHECK_EQ(expected, test_size(20000));
    join(f);
    CHECK_EQ(weft_chan_free(c1), 0);
}
TEST_WITHIN(doubleselect, 60) { each_size(doubleselect); }

/* --- powser1: streams of coefficients, on demand ---------------------------------------------- */

enum { TERMS = 12 };
struct series { /* a coefficient for each request */
    struct weft_chan *request, *answer;
    struct series *f, *g;
    struct weft_fiber fiber;
};
static int ask(struct series *s) {
    CHECK_EQ(weft_chan_send(s->request, NULL), 0);
    return get(s->answer);
}
static bool asked(struct series *s) { return !weft_chan_recv(s->request, NULL); }
static void *all_ones(void *arg) {
    struct series *s = arg;
    while (asked(s)) put(s->answer, 1);
    return NULL;
}
static void *sum(void *arg) {
    struct series *s = arg;
    while (asked(s)) put(s->answer, ask(s->f) + ask(s->g));
    return NULL;
}
/* The product: each term needs all terms so far. */
static void *product(void *arg) {
    struct series *s = arg;
    int f[TERMS], g[TERMS];
    for (int n = 0; asked(s); n++) {
        int term = 0;
        f[n] = ask(s->f);
        g[n] = ask(s->g);
        for (int k = 0; k <= n; k++) term += f[k] * g[n - k];
        put(s->answer, term);
    }
    return NULL;
}
static struct series *series(struct series *s, void *(*fn)(void *), struct series *f, struct series *g) {
    *s = (struct series){weft_chan_make(0, 0), ints(0), f, g, {0}};
    s->fiber = spawn(fn, s);
    return s;
}
static void powser1(void *unused) {
    (void)unused;
    struct series s[7];
    /* 1/(1-x) squared is the counting numbers; twice that, plus 1/(1-x). */
    series(&s[0], all_ones, NULL, NULL);
    series(&s[1], all_ones, NULL, NULL);
    series(&s[2], product, &s[0], &s[1]);
    series(&s[3], all_ones, NULL, NULL);
    series(&s[4], sum, &s[2], &s[3]);
    series(&s[5], all_ones, NULL, NULL);
    series(&s[6], product, &s[4], &s[5]); /* the running sum of n + 2 */
    for (int n = 0, wanted = 0; n < TERMS; n++) {
        wanted += n + 2;
        CHECK_EQ(ask(&s[6]), wanted);
    }
    for (int i = 0; i < 7; i++) CHECK_EQ(weft_chan_close(s[i].request), 0);
    for (int i = 0; i < 7; i++) {
        join(s[i].fiber);
        CHECK_EQ(weft_chan_free(s[i].request), 0);
        CHECK_EQ(weft_chan_free(s[i].answer), 0);
    }
}
TEST(powser1) { each_size(powser1); }

/* --- the runtime's: multi-consumer ------------------------------------------------------------ */

static struct weft_chan *questions, *answers;
static const int multiply[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 27, 31};
static void *consumes(void *number) {
    for (int x; !weft_chan_recv(questions, &x);) {
        if (multiply[(intptr_t)number] == x) weft_yield();
        put(answers, x);
    }
    return NULL;
}
static void *produces(void *count) {
    for (intptr_t i = 0; i < (intptr_t)count; i++) put(questions, multiply[i % 11]);
    CHECK_EQ(weft_chan_close(questions), 0);
    return NULL;
}
static void multi_consumer(void *unused) {
    (void)unused;
    enum { WORKERS = 23 };
    intptr_t items = (intptr_t)test_size(20000);
    struct weft_fiber f[WORKERS + 1];
    questions = ints(WORKERS * 3);
    answers = ints(WORKERS * 3);
    long sum = 0, expected = 0;
    for (intptr_t i = 0; i < WORKERS; i++) f[i] = spawn(consumes, (void *)(i % 11));
    f[WORKERS] = spawn(produces, (void *)items);
    for (intptr_t i = 0; i < items; i++) {
        expected += multiply[i % 11];
        sum += get(answers);
    }
    CHECK_EQ(sum, expected);
    for (int i = 0; i <= WORKERS; i++) join(f[i]);
    CHECK_EQ(weft_chan_free(questions), 0);
    CHECK_EQ(weft_chan_free(answers), 0);
}
TEST_WITHIN(multi_consumer, 60) { each_size(multi_consumer); }

/* --- select stress: four channels, ten fibers, each item of four kinds of senders and receivers ---- */

static struct weft_chan *c[4];
static int hits[4];
static void *sends_on(void *number) {
    for (size_t i = test_size(4000); i > 0; i--) put(c[(intptr_t)number], 0);
    return NULL;
}
static void *receives_on(void *number) {
    for (size_t i = test_size(4000); i > 0; i--) get(c[(intptr_t)number]);
    return NULL;
}
/* Uses each channel the same number of times, and then no more. */
static void use_all(bool sends) {
    size_t left[4];
    struct weft_case cases[4];
    int x = 0;
    for (int i = 0; i < 4; i++) {
        struct weft_case send = WEFT_CASE_SEND(c[i], &x), recv = WEFT_CASE_RECV(c[i], &x);
        cases[i] = sends ? send : recv;
        left[i] = test_size(4000);
    }
    for (size_t n = 4 * test_size(4000); n > 0; n--) {
        int which = weft_case_select(cases, 4);
        CHECK_EQ(cases[which].result, 0);
        ADD(&hits[which], 1);
        if (--left[which] == 0) cases[which].on = NULL;
    }
}
static void *sends_by_select(void *unused) { return use_all(true), unused; }
static void *receives_by_select(void *unused) { return use_all(false), unused; }
static void select_stress(void *unused) {
    (void)unused;
    static const size_t capacity[4] = {0, 0, 2, 3};
    struct weft_fiber f[10];
    for (int i = 0; i < 4; i++) c[i] = ints(capacity[i]);
    for (intptr_t i = 0; i < 4; i++) {
        f[2 * i] = spawn(sends_on, (void *)i);
        f[2 * i + 1] = spawn(receives_on, (void *)i);
    }
    f[8] = spawn(sends_by_select, NULL);
    f[9] = spawn(receives_by_select, NULL);
    for (int i = 0; i < 10; i++) join(f[i]);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(weft_chan_len(c[i]), 0);
        CHECK_EQ(weft_chan_free(c[i]), 0);
    }
}
TEST_WITHIN(select_stress, 60) { each_size(select_stress); }

/* --- a send and a receive that race with a select's barrier (TestChanSendSelectBarrier) ------- */

struct barrier {
    struct weft_chan *go, *done;
    int value;
    bool selects;
};
static void *changes_and_passes(void *arg) {
    struct barrier *b = arg;
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(b->value, i); /* plain: the channel orders it */
        b->value = i + 1;
        if (b->selects) {
            struct weft_case cases[] = {WEFT_CASE_SEND(b->go, &i), WEFT_CASE_RECV(NULL, &i)};
            CHECK_EQ(weft_case_select(cases, 2), 0);
        } else
            put(b->go, i);
        get(b->done);
    }
    return NULL;
}
static void *sees_and_answers(void *arg) {
    struct barrier *b = arg;
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(get(b->go), i);
        CHECK_EQ(b->value, i + 1);
        put(b->done, i);
    }
    return NULL;
}
static void barrier(void *unused) {
    (void)unused;
    for (int way = 0; way < 4; way++) {
        struct barrier b = {ints((size_t)way / 2), ints(0), 0, way % 2};
        struct weft_fiber f = spawn(changes_and_passes, &b), g = spawn(sees_and_answers, &b);
        join(f);
        join(g);
        CHECK_EQ(weft_chan_free(b.go), 0);
        CHECK_EQ(weft_chan_free(b.done), 0);
    }
}
TEST(send_and_select_are_barriers) { each_size(barrier); }

/* --- TestPseudoRandomSend: a select of two sends into a buffer chooses both ------------------- */

static void pseudo_random_send(void *unused) {
    (void)unused;
    enum { N = 100 };
    for (size_t capacity = 0; capacity <= N; capacity += N) {
        struct weft_chan *ch = ints(capacity);
        struct weft_chan *const to = ch;
        int zeros = 0, ones = 0, zero = 0, one = 1, got[N];
        for (int i = 0; i < N; i++) {
            struct weft_case cases[] = {WEFT_CASE_SEND(to, &zero), WEFT_CASE_SEND(to, &one)};
            struct weft_fiber f = capacity ? (struct weft_fiber){0} : spawn(receives_one, to);
            int which = weft_case_select(cases, 2);
            got[i] = capacity ? get(to) : (int)(intptr_t)join(f);
            CHECK_EQ(got[i], which);
            zeros += got[i] == 0;
            ones += got[i] == 1;
        }
        CHECK(zeros > N / 10 && ones > N / 10);
        CHECK_EQ(weft_chan_free(ch), 0);
    }
}
TEST(pseudo_random_send) { each_size(pseudo_random_send); }

/* --- TestNonblockSelectRace2: one is closed meanwhile ----------------------------------------- */

static void *must_find_one(void *unused) {
    struct weft_case cases[] = {WEFT_CASE_RECV(c2, NULL), WEFT_CASE_RECV(c1, NULL)};
    CHECK(weft_case_select_try(cases, 2) >= 0);
    return unused;
}
static void nonblock_select_race(void *unused) {
    (void)unused;
    for (size_t i = test_size(5000); i > 0; i--) {
        c1 = ints(1);
        c2 = ints(0);
        put(c1, 1);
        struct weft_fiber f = spawn(must_find_one, NULL);
        if (i % 2) weft_yield();
        CHECK_EQ(weft_chan_close(c2), 0);
        weft_chan_recv_try(c1, NULL);
        join(f);
        CHECK_EQ(weft_chan_free(c1), 0);
        CHECK_EQ(weft_chan_free(c2), 0);
    }
}
TEST_WITHIN(nonblock_select_race, 60) { each_size(nonblock_select_race); }

/* --- zerosize, sendstmt ----------------------------------------------------------------------- */

TEST(zerosize) {
    struct weft_chan *ch = weft_chan_make(0, 2);
    CHECK_EQ(weft_chan_send(ch, NULL), 0);
    CHECK_EQ(weft_chan_send(ch, NULL), 0);
    CHECK_EQ(weft_chan_send_try(ch, NULL), -EAGAIN);
    CHECK_EQ(weft_chan_recv(ch, NULL), 0);
    CHECK_EQ(weft_chan_len(ch), 1);
    CHECK_EQ(weft_chan_free(ch), 0);
}

/* The receiver gets the value that the item had at the send. */
TEST(sendstmt) {
    struct {
        char text[12];
        int n;
    } item = {"first", 1}, got;
    struct weft_chan *ch = weft_chan_make(sizeof item, 2);
    CHECK_EQ(weft_chan_send(ch, &item), 0);
    strcpy(item.text, "second");
    item.n = 2;
    CHECK_EQ(weft_chan_send(ch, &item), 0);
    CHECK_EQ(weft_chan_recv(ch, &got), 0);
    CHECK(got.n == 1 && !strcmp(got.text, "first"));
    CHECK_EQ(weft_chan_recv(ch, &got), 0);
    CHECK(got.n == 2 && !strcmp(got.text, "second"));
    CHECK_EQ(weft_chan_free(ch), 0);
}
