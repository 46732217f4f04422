/* weft_close: who waits for the descriptor ends with EBADF; nobody gets what is meant for the next user of its number.
 */
#define _GNU_SOURCE
#include "io.h"

#include "../state.h"

enum { NUMBER = 700 }; /* that nobody else uses, not even weft itself */
static int fd_in_question, begun;
static long long reads(void) {
    char c;
    return told(weft_read(fd_in_question, &c, 1));
}
static long long receives(void) {
    char c;
    return told(weft_recv(fd_in_question, &c, 1, 0));
}
static long long polls(void) { return told(weft_poll(&(struct pollfd){fd_in_question, POLLIN, 0}, 1, -1)); }
static long long waits_ready(void) { return weft_ready(fd_in_question, POLLIN); }
static long long operation(void) {
    struct weft_io io;
    char c;
    CHECK_EQ(weft_io_recv(&io, fd_in_question, &c, 1, 0), 0);
    return weft_io_wait(&io);
}
static long long writes(void) { return told(weft_write(fd_in_question, "x", 1)); }
static long long accepts(void) { return told(weft_accept(fd_in_question, NULL, NULL)); }

static void *makes_call(void *fn) {
    ADD(&begun, 1);
    return (void *)(intptr_t)((long long (*)(void))(uintptr_t)fn)();
}
static void *closes(void *unused) {
    CHECK_EQ(weft_close(fd_in_question), 0);
    return unused;
}

/* Three of each, some of them closed by a thread that is no fiber. Who is late finds it closed. */
static void is_closed(long long (*fn)(void), int fd, bool by_thread) {
    struct weft_fiber f[3];
    CHECK_EQ(fd_in_question = dup3(fd, NUMBER, O_CLOEXEC), NUMBER);
    CHECK(!close(fd));
    begun = 0;
    for (int i = 0; i < 3; i++) f[i] = spawn(makes_call, (void *)(uintptr_t)fn);
    await_yielding(&begun, 3);
    let_it_wait();
    if (by_thread)
        thread_join(thread_start(closes, NULL));
    else
        closes(NULL);
    for (int i = 0; i < 3; i++) {
        intptr_t got = (intptr_t)join(f[i]);
        if (fn != polls) CHECK_EQ(got, -EBADF);
        if (fn == polls) CHECK(got == -EBADF || got == 1); /* it may look again, and find POLLNVAL */
    }
}
static void all_kinds(void *unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        for (enum ends kind = 0; kind < ENDS; kind++) {
            int e[2];
            long long (*fns[])(void) = {reads, polls, waits_ready, receives, operation};
            for (int k = 0; k < (kind < LOCAL ? 3 : 5); k++) {
                make_ends(kind, e);
                is_closed(fns[k], e[0], i);
                CHECK(!close(e[1]));
            }
            make_ends(kind, e);
            fill_up(e[1]);
            is_closed(writes, e[1], i);
            CHECK(!close(e[0]));
        }
        struct sockaddr_in address;
        int listener;
        make_listener(&listener, &address, i ? SOCK_NONBLOCK : 0);
        is_closed(accepts, listener, i);
    }
}
TEST(who_waits_ends) { each_runtime(all_kinds); }

/* --- the next user of the number ------------------------------------------------------------------------------------
 */

static int own, none;
struct number {
    int fd;
    unsigned char tag;
};

/* Reads one byte; what it gets is of the life in which it began, or nothing. */
static void *reads_one(void *arg) {
    struct number *n = arg;
    unsigned char c = 0;
    long long got = told(weft_read(n->fd, &c, 1));
    if (got == 1) CHECK_EQ(c, n->tag);
    if (got != 1) CHECK(got == -EBADF || got == 0);
    ADD(got == 1 ? &own : &none, 1);
    return NULL;
}
static bool waits_or_ended(struct weft_fiber f) { return state_waits(f) || state_ended(f); }

static void reused(void *unused) {
    (void)unused;
    enum { READERS = 8, ROUNDS = 600 };
    struct weft_fiber f[READERS];
    uint64_t random = 1;
    for (unsigned round = 0; round < test_size(ROUNDS); round++) {
        int e[2], next[2];
        make_ends(round % ENDS, e);
        struct number n = {e[0], (unsigned char)(round % 251)};
        for (int i = 0; i < READERS; i++) f[i] = spawn(reads_one, &n);
        for (int i = 0; i < READERS; i++) await_state(waits_or_ended, f[i]); /* they have begun with this one */
        for (uint64_t i = test_below(&random, READERS); i; i--) CHECK_EQ(weft_write(e[1], &n.tag, 1), 1);
        close_ends(e); /* some are woken by a byte, and have not got it yet */
        make_ends((round + round / ENDS) % ENDS, next);
        CHECK_EQ(weft_write(next[1], "\xff\xff\xff\xff\xff\xff\xff\xff", 8), 8); /* not for them */
        for (int i = 0; i < READERS; i++) join(f[i]);
        close_ends(next);
    }
}
TEST_WITHIN(a_number_that_is_used_again, 40) {
    each_runtime(reused);
    CHECK(own > 0 && none > 0);
}

/* --- at any moment
 * ---------------------------------------------------------------------------------------------------- */

/* Nobody uses the number again before all have ended: whatever they are about to do, they end. */
static void at_any_moment(void *unused) {
    (void)unused;
    enum { READERS = 4, ROUNDS = 1000 };
    struct weft_fiber f[READERS];
    uint64_t random = 7;
    for (unsigned round = 0; round < test_size(ROUNDS); round++) {
        int e[2];
        struct number n = {NUMBER, 'x'};
        make_ends(round % ENDS, e);
        CHECK_EQ(dup3(e[0], NUMBER, O_CLOEXEC), NUMBER);
        CHECK(!close(e[0]));
        for (int i = 0; i < READERS; i++) f[i] = spawn(reads_one, &n);
        for (uint64_t i = test_below(&random, 4); i; i--) weft_yield();
        if (round % 3 == 0) CHECK_EQ(weft_write(e[1], "x", 1), 1);
        for (uint64_t i = test_below(&random, 3000); i; i--) __asm__ volatile("" ::: "memory");
        CHECK_EQ(weft_close(NUMBER), 0);
        for (int i = 0; i < READERS; i++) join(f[i]);
        CHECK_EQ(weft_close(e[1]), 0);
    }
}
TEST_WITHIN(closed_at_any_moment, 40) { each_runtime(at_any_moment); }
