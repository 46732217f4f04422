/* SPDX-License-Identifier: MIT */
/* weft_close: waits for the descriptor end with EBADF; no waiter gets bytes of the next file with the same number.
 */
#define _GNU_SOURCE
#include "io.h"

#include "../state.h"
#include "io/fd_generation.h"

enum { NUMBER = 700 }; /* a number that no other code uses, not even weft */
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

/* Three fibers wait for each kind of descriptor. Some descriptors are closed by a thread that is not a fiber. A fiber
 * that comes late finds the descriptor closed. */
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
            fill_up(e);
            is_closed(writes, e[1], i);
            CHECK(!close(e[0]));
        }
        struct sockaddr_in address;
        int listener;
        make_listener(&listener, &address, i ? SOCK_NONBLOCK : 0);
        is_closed(accepts, listener, i);
    }
}
TEST(waits_end) { each_runtime(all_kinds); }

/* --- the next user of the number -------------------------------------------------------------- */

static int own, none;
struct number {
    int fd;
    unsigned char tag;
};

/* Reads one byte. It gets a byte of the file that was open when it began, or none. */
static void *reads_one(void *arg) {
    struct number *n = arg;
    unsigned char c = 0;
    long long got = told(weft_read(n->fd, &c, 1));
    if (got == 1) CHECK_EQ(c, n->tag);
    if (got != 1 && got) CHECK_EQ(got, -EBADF);
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
        for (int i = 0; i < READERS; i++) await_state(waits_or_ended, f[i]); /* they have begun with this file */
        int bytes = (int)test_below(&random, READERS), had = LOAD(&own);
        for (int i = 0; i < bytes; i++) CHECK_EQ(weft_write(e[1], &n.tag, 1), 1);
        while (bytes && round % 8 == 0 && LOAD(&own) == had) weft_yield(); /* now and then a fiber has got the byte */
        close_ends(e); /* some fibers were woken by a byte, and have not read it yet */
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

/* --- calls with two descriptors, names in a directory, and calls that a fiber makes later ----- */

static int other_ends[2];
static void *splices(void *from) {
    return (void *)(intptr_t)told(weft_splice(*(int *)from, NULL, other_ends[1], NULL, 8, 0));
}
static void the_other_one(void *unused) {
    (void)unused;
    int e[2];
    make_ends(PIPE, e);
    make_ends(LOCAL, other_ends);
    CHECK_EQ(dup3(e[0], NUMBER, O_CLOEXEC), NUMBER);
    CHECK(!close(e[0]));
    struct weft_fiber f = spawn(splices, &(int){NUMBER});
    await_state(state_waits, f);
    CHECK_EQ(weft_close(NUMBER), 0);
    CHECK_EQ((intptr_t)join(f), -EBADF);
    CHECK(!close(e[1]));
    close_ends(other_ends);
}
TEST(closing_the_first_of_two_descriptors_ends_the_wait) { each_runtime(the_other_one); }

static void make_directory(char dir[SCRATCH_SIZE], const char *text) {
    char path[SCRATCH_SIZE + 8];
    CHECK(mkdtemp(scratch_name(dir)));
    snprintf(path, sizeof path, "%s/file", dir);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(write(fd, text, 1) == 1 && !close(fd));
}
static void remove_directory(const char *dir) {
    char path[SCRATCH_SIZE + 8];
    snprintf(path, sizeof path, "%s/file", dir);
    CHECK(!unlink(path) && !rmdir(dir));
}
static void *opens_there(void *unused) {
    char c = 'r';
    int fd = weft_openat(NUMBER, "file", O_RDONLY | O_CLOEXEC);
    if (fd < 0) CHECK_EQ(errno, EBADF);
    if (fd >= 0) CHECK(read(fd, &c, 1) == 1 && !weft_close(fd));
    CHECK_EQ(c, 'r');
    return unused;
}
static void directories(void *unused) {
    (void)unused;
    char right[SCRATCH_SIZE], wrong[SCRATCH_SIZE];
    make_directory(right, "r");
    make_directory(wrong, "w");
    for (int i = 0; i < 20; i++) {
        int a = open(right, O_RDONLY | O_DIRECTORY | O_CLOEXEC), b = open(wrong, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CHECK_EQ(dup3(a, NUMBER, O_CLOEXEC), NUMBER);
        struct weft_fiber f = spawn(opens_there, NULL);
        await_state(waits_or_ended, f);
        CHECK_EQ(weft_close(NUMBER), 0);
        CHECK_EQ(dup3(b, NUMBER, O_CLOEXEC), NUMBER);
        join(f);
        CHECK(!weft_close(NUMBER) && !close(a) && !close(b));
    }
    remove_directory(right);
    remove_directory(wrong);
}
TEST(a_directory_is_the_one_that_was_meant) { each_runtime(directories); }

/* On one worker, a call that a separate fiber makes runs after the close. On several workers it may run during the
 * close. */
static void once_later(int file) {
    struct weft_io io[2];
    char c = 0;
    int e[2], next[2];
    make_ends(LOCAL, e);
    make_ends(LOCAL, next);
    CHECK_EQ(dup3(e[0], NUMBER, O_CLOEXEC), NUMBER);
    CHECK_EQ(weft_io_read(&io[0], NUMBER, &c, 1), 0);
    CHECK_EQ(weft_io_sendfile(&io[1], NUMBER, file, &(off_t){0}, 4), 0);
    CHECK_EQ(weft_close(NUMBER), 0);
    CHECK_EQ(dup3(next[0], NUMBER, O_CLOEXEC), NUMBER);
    CHECK_EQ(write(next[1], "y", 1), 1); /* not for them */
    CHECK_EQ(weft_io_wait(&io[0]), -EBADF);
    ssize_t sent = weft_io_wait(&io[1]);
    CHECK(sent == -EBADF || sent == 4);
    CHECK_EQ(recv(next[1], &c, 1, MSG_DONTWAIT), -1);
    CHECK_EQ(weft_close(NUMBER), 0);
    close_ends(e);
    close_ends(next);
}
static void later(void *unused) {
    (void)unused;
    int file = make_file();
    CHECK_EQ(write(file, "text", 4), 4);
    for (size_t i = test_size(500); i > 0; i--) once_later(file);
    CHECK_EQ(weft_close(file), 0);
}
TEST(operations_are_about_what_was_there_when_they_began) { each_runtime(later); }

/* The number is closed so often that 24 bits of its generation come round before the operation is made. A program that
 * opens and closes needs six seconds for that. */
static void much_later(void *unused) {
    struct weft_io io;
    char c = 0;
    int e[2], next[2];
    make_ends(LOCAL, e);
    make_ends(LOCAL, next);
    CHECK_EQ(dup3(e[0], NUMBER, O_CLOEXEC), NUMBER);
    CHECK_EQ(weft_io_read(&io, NUMBER, &c, 1), 0);
    for (unsigned i = 1; i < 1 << 24; i++) {
        weft__fd_begin_close(NUMBER);
        weft__fd_end_close(NUMBER);
    }
    CHECK_EQ(weft_close(NUMBER), 0);
    CHECK_EQ(dup3(next[0], NUMBER, O_CLOEXEC), NUMBER);
    CHECK_EQ(write(next[1], "y", 1), 1); /* not for the operation */
    CHECK_EQ(weft_io_wait(&io), -EBADF);
    CHECK_EQ(weft_close(NUMBER), 0);
    close_ends(e);
    close_ends(next);
    (void)unused;
}
TEST_WITHIN(generations_do_not_come_round, 60) {
    if (test_valgrind() || test_emulated()) test_skip("sixteen million closes");
    no_rescue(); /* on one worker, without a ring, the operation is made after the closes */
    each_runtime(much_later);
}

/* When a thread ends, the kernel cancels what it has submitted, also the entries of other fibers. These must not
 * notice. */
static void *asks_late(void *fd) {
    char c;
    CHECK_EQ(weft_recv(*(int *)fd, &c, 1, 0), 1);
    return NULL;
}
static void thread_ends(void *unused) {
    (void)unused;
    int e[2], mine[2];
    make_ends(LOCAL, e);
    make_ends(LOCAL, mine);
    CHECK_EQ(fd_in_question = dup3(e[0], NUMBER, O_CLOEXEC), NUMBER);
    CHECK(!close(e[0]));
    struct weft_fiber closed = spawn(makes_call, (void *)(uintptr_t)receives), stays = spawn(asks_late, &mine[0]);
    pthread_t t = thread_start(closes, NULL);
    await_state(state_ended, closed);
    thread_join(t);
    let_it_wait();
    CHECK_EQ(write(mine[1], "x", 1), 1);
    join(stays);
    CHECK_EQ((intptr_t)join(closed), -EBADF);
    CHECK(!close(e[1]));
    close_ends(mine);
}
TEST(a_thread_closes_and_ends) {
    for (int i = 0; i < 5; i++) each_runtime(thread_ends);
}

/* --- at any moment ---------------------------------------------------------------------------- */

/* The number is not used again before all waits have ended. They end, whatever they are about to do. */
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
