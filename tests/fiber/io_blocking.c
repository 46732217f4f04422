/* SPDX-License-Identifier: MIT */
/* Calls that block: on another thread, limited in number, in order; abandoned or not; threads that begin and end. */
#define _GNU_SOURCE
#include "io.h"

#include <netdb.h>
#include <signal.h>
#include <sys/wait.h>

/* --- it runs elsewhere -------------------------------------------------------------------------------------- */

static void *says_who(void *arg) {
    sigset_t blocked;
    CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &blocked));
    CHECK(sigismember(&blocked, SIGTERM));
    *(pthread_t *)arg = pthread_self();
    return arg;
}
static void runs_elsewhere(void *unused) {
    (void)unused;
    pthread_t who;
    void *result = NULL;
    CHECK_EQ(weft_blocking(says_who, &who, &result), 0);
    CHECK(result == &who && !pthread_equal(who, pthread_self()));
    CHECK_EQ(weft_blocking(says_who, &who, NULL), 0);
    result = NULL;
    CHECK_EQ(weft_blocking_owned(says_who, &who, NULL, &result), 0);
    CHECK(result == &who && !pthread_equal(who, pthread_self()));
    CHECK_EQ(weft_blocking(NULL, NULL, NULL), -EINVAL);
    CHECK_EQ(weft_blocking_owned(NULL, NULL, NULL, NULL), -EINVAL);
}
TEST(it_runs_on_another_thread) { each_runtime(runs_elsewhere); }

static void *returns_it(void *arg) { return arg; }
TEST(a_thread_may_call_it) {
    int x;
    void *result = NULL;
    CHECK_EQ(weft_blocking(returns_it, &x, &result), 0);
    CHECK(result == &x);
    result = NULL;
    CHECK_EQ(weft_blocking_owned(returns_it, &x, NULL, &result), 0);
    CHECK(result == &x);
}

/* --- how many ------------------------------------------------------------------------------------------------ */

static int inside, most_inside, ended;
static void *naps(void *unused) {
    int n = ADD(&inside, 1) + 1, most = LOAD(&most_inside);
    while (n > most &&
           !__atomic_compare_exchange_n(&most_inside, &most, n, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    test_nap_ms(5);
    ADD(&inside, -1);
    return unused;
}
static void *calls_it(void *unused) {
    CHECK_EQ(weft_blocking(naps, NULL, NULL), 0);
    ADD(&ended, 1);
    return unused;
}
static void many(void *unused) {
    (void)unused;
    enum { MANY = 300 };
    struct weft_fiber f[MANY];
    most_inside = ended = 0;
    for (int i = 0; i < MANY; i++) f[i] = spawn(calls_it, NULL);
    for (int i = 0; i < MANY; i++) join(f[i]);
    CHECK_EQ(ended, MANY);
    CHECK(most_inside <= 64);
    CHECK(most_inside > 1);
}
TEST(no_more_than_the_bound_at_once) { each_runtime(many); }

TEST(no_thread_is_left_after_a_stop) {
    if (TEST_TSAN) test_skip("it has a thread of its own");
    size_t before = test_threads();
    test_in_fiber(2, many, NULL);
    while (test_threads() > before) test_nap_ms(1); /* a joined thread is still seen for a moment */
}

static void few_are_left(void *unused) {
    (void)unused;
    size_t before = test_threads();
    struct weft_fiber f[8];
    for (int i = 0; i < 8; i++) f[i] = spawn(calls_it, NULL);
    for (int i = 0; i < 8; i++) join(f[i]);
    CHECK(test_threads() > before);
    while (test_threads() > before) weft_sleep_for(50 * WEFT_MILLISECOND);
    CHECK_EQ(weft_blocking(naps, NULL, NULL), 0); /* and another thread is made when it is needed */
}
TEST(idle_threads_end) {
    if (test_emulated()) test_skip("there are others");
    if (TEST_TSAN) test_skip("it has a thread of its own");
    no_rescue(); /* otherwise a spare worker would stay */
    test_in_fiber(2, few_are_left, NULL);
}

/* --- the pool is in use: calls beyond the limit wait in line ---------------------------------------------------- */

static int gate, taken, line[64], in_line;
static void *stays(void *unused) {
    ADD(&taken, 1);
    test_await(&gate, 1);
    return unused;
}
static void *calls_stays(void *unused) {
    CHECK_EQ(weft_blocking(stays, NULL, NULL), 0);
    return unused;
}
static void *notes_turn(void *number) {
    line[ADD(&in_line, 1)] = (int)(intptr_t)number;
    return NULL;
}
static void *calls_notes(void *number) {
    int err = weft_blocking(notes_turn, number, NULL);
    return (void *)(intptr_t)err;
}
static struct weft_fiber keepers[64];
static void use_up(void) {
    gate = taken = in_line = 0;
    for (int i = 0; i < 64; i++) keepers[i] = spawn(calls_stays, NULL);
    while (LOAD(&taken) < 64) weft_sleep_for(WEFT_MILLISECOND);
}
static void let_go(void) {
    STORE(&gate, 1);
    for (int i = 0; i < 64; i++) join(keepers[i]);
}

static void cancelled_in_line(void *unused) {
    (void)unused;
    struct weft_fiber f[3];
    use_up();
    for (intptr_t i = 0; i < 3; i++) {
        f[i] = spawn(calls_notes, (void *)(i + 1));
        let_it_wait();
    }
    CHECK_EQ(LOAD(&in_line), 0);
    CHECK_EQ(weft_cancel(f[1]), 0);
    CHECK_EQ((intptr_t)join(f[1]), -ECANCELED);
    let_go();
    CHECK(!join(f[0]) && !join(f[2]));
    CHECK_EQ(in_line, 2);
    CHECK(line[0] + line[1] == 1 + 3);
}
TEST(a_queued_call_can_be_cancelled) { each_runtime(cancelled_in_line); }

/* --- the plain form stays --------------------------------------------------------------------- */

static int begun;
static void *writes_late(void *memory) {
    STORE(&begun, 1);
    test_nap_ms(30);
    strcpy(memory, "late");
    return memory;
}
static void *calls_writes_late(void *unused) {
    char memory[8] = "early";
    void *result = NULL;
    CHECK_EQ(weft_blocking(writes_late, memory, &result), 0); /* the call has run: that counts */
    CHECK(result == memory && !strcmp(memory, "late"));
    CHECK_EQ(weft_sleep_for(WEFT_FOREVER), -ECANCELED);
    return unused;
}
static void plain_stays(void *unused) {
    (void)unused;
    begun = 0;
    struct weft_fiber f = spawn(calls_writes_late, NULL);
    await_yielding(&begun, 1);
    CHECK_EQ(weft_cancel(f), 0);
    join(f);
    struct weft_scope scope;
    char memory[8] = "early";
    uint64_t until = weft_now() + 10 * WEFT_MILLISECOND;
    CHECK_EQ(weft_scope_begin(&scope, until), 0);
    int err = weft_blocking(writes_late, memory, NULL);
    CHECK(!err || (err == -ETIMEDOUT && weft_now() >= until)); /* so slow that the call was over before */
    CHECK(!strcmp(memory, err ? "early" : "late"));
    CHECK_EQ(weft_sleep_for(WEFT_FOREVER), -ETIMEDOUT); /* now the call is over */
    CHECK_EQ(weft_blocking(writes_late, memory, NULL), -ETIMEDOUT);
    CHECK_EQ(weft_scope_end(&scope), -ETIMEDOUT);
}
TEST(a_call_that_has_begun_is_waited_for) { each_runtime(plain_stays); }

/* --- the other form goes ---------------------------------------------------------------------- */

static int destroyed;
static void destroy(void *memory) {
    free(memory);
    ADD(&destroyed, 1);
}
static void *calls_owned(void *unused) {
    char *memory = calloc(1, 8);
    int err = weft_blocking_owned(writes_late, memory, destroy, NULL);
    if (!err) free(memory);
    return (void)unused, (void *)(intptr_t)err;
}
static void owned_goes(void *unused) {
    (void)unused;
    begun = destroyed = 0;
    struct weft_fiber f = spawn(calls_owned, NULL);
    await_yielding(&begun, 1);
    CHECK_EQ(weft_cancel(f), 0);
    int given = (intptr_t)join(f) == -ECANCELED; /* unless the call was over before */
    test_await(&destroyed, given);
    CHECK(!join(spawn(calls_owned, NULL)));
    CHECK_EQ(destroyed, given); /* the memory belonged to the caller again */
    CHECK_EQ(weft_cancel(weft_self()), 0);
    CHECK_EQ((intptr_t)calls_owned(NULL), -ECANCELED); /* cancelled before it began */
    CHECK_EQ(destroyed, given + 1);
}
TEST(an_owned_call_is_given_up) { each_runtime(owned_goes); }

static int given_up;
static void gives_up(void *unused) {
    (void)unused;
    struct weft_scope scope;
    CHECK_EQ(weft_scope_begin(&scope, weft_now() + 5 * WEFT_MILLISECOND), 0);
    if (calls_owned(NULL)) ADD(&given_up, 1); /* on a busy machine it may be over before */
    weft_scope_end(&scope);
}
TEST(a_stop_waits_for_what_was_given_up) {
    destroyed = 0;
    test_in_fiber(1, gives_up, NULL);
    CHECK_EQ(destroyed, given_up);
    test_start(1);
    gives_up(NULL); /* a thread, in a scope of its own */
    test_stop();
    CHECK_EQ(destroyed, given_up);
}

static void owned_in_line(void *unused) {
    (void)unused;
    destroyed = 0;
    use_up();
    struct weft_fiber f = spawn(calls_owned, NULL);
    let_it_wait();
    CHECK_EQ(weft_cancel(f), 0);
    CHECK_EQ((intptr_t)join(f), -ECANCELED);
    CHECK_EQ(destroyed, 1);
    let_go();
}
TEST(given_up_before_its_turn) { each_runtime(owned_in_line); }

/* --- fork ------------------------------------------------------------------------------------- */

static int in_child(void *unused) {
    (void)unused;
    int x;
    void *result;
    CHECK_EQ(weft_blocking(returns_it, &x, &result), 0);
    CHECK(result == &x);
    return 0;
}
static void forks(void *unused) {
    (void)unused;
    use_up();
    pid_t pid = fork();
    if (!pid) {
        CHECK_EQ(weft_run(in_child, NULL, NULL), 0);
        _exit(7);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    let_go();
}
TEST(a_forked_child_has_a_pool_of_its_own) {
    if (TEST_TSAN) test_skip("no threads in a forked child");
    test_needs_forks();
    test_in_fiber(2, forks, NULL);
}

/* --- names ------------------------------------------------------------------------------------ */

static void names(void *unused) {
    (void)unused;
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST},
                    *found = NULL;
    CHECK_EQ(weft_getaddrinfo("127.0.0.1", "80", &hints, &found), 0);
    CHECK(found && found->ai_family == AF_INET);
    struct sockaddr_in *a = (struct sockaddr_in *)(void *)found->ai_addr;
    CHECK(a->sin_addr.s_addr == htonl(INADDR_LOOPBACK) && a->sin_port == htons(80));
    freeaddrinfo(found);
    CHECK_EQ(weft_getaddrinfo("not a number", NULL, &hints, &found), EAI_NONAME);
    CHECK_EQ(weft_getaddrinfo(NULL, NULL, NULL, &found), EAI_NONAME);
    CHECK_EQ(weft_getaddrinfo(NULL, "80", NULL, &found), 0);
    freeaddrinfo(found);
}
static void name_given_up(void *unused) {
    (void)unused;
    struct addrinfo *found = NULL;
    CHECK_EQ(weft_cancel(weft_self()), 0);
    CHECK_EQ(weft_getaddrinfo("127.0.0.1", NULL, NULL, &found), EAI_SYSTEM);
    CHECK_EQ(errno, ECANCELED);
    CHECK(!found);
}
TEST(names_are_looked_up) {
    each_runtime(names);
    names(NULL);
    each_runtime(name_given_up);
}
