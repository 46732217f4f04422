/* SPDX-License-Identifier: MIT */
/* weft_profile_begin and _end: the content of a profile, wrong calls, and programs that a profile does not disturb. */
#define _GNU_SOURCE
#include "fiber.h"

#include "weft/profile.h"

#include "../state.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static char text[1 << 20];
static struct weft_sem sem = WEFT_SEM_INIT(0);

/* Ends the profile, and returns it as folded stacks. */
static const char *end_profile(void) {
    int fd = memfd_create("profile", 0);
    CHECK(fd >= 0);
    CHECK_EQ(weft_profile_end(fd, WEFT_PROFILE_FOLDED), 0);
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    CHECK(n >= 0);
    text[n] = 0;
    close(fd);
    return text;
}

static uint64_t cpu_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static __attribute__((noinline)) void *computes_here(void *arg) {
    for (uint64_t end = cpu_time() + 200 * WEFT_MILLISECOND; cpu_time() < end;)
        for (unsigned i = 0; i < 1000000; i++) __asm__ volatile("");
    return arg;
}

static void *waits_here(void *arg) {
    CHECK_EQ(weft_sem_wait(&sem), 0);
    return arg;
}

static void profile_in_fiber(void *unused) {
    struct weft_fiber f[3], computing;
    (void)unused;
    for (unsigned i = 0; i < 3; i++) f[i] = spawn(waits_here, NULL);
    for (unsigned i = 0; i < 3; i++) await_state(state_waits, f[i]);
    CHECK_EQ(weft_profile_begin(0), 0);
    computing = spawn(computes_here, NULL);
    join(computing);
    const char *said = end_profile();
    CHECK_HAS(said, "[semaphore] ");
    if (!TEST_TSAN && !test_emulated() && !test_valgrind()) { /* these hand signals on later, or have no such timers */
        CHECK_HAS(said, "cpu;");
        CHECK_HAS(said, "computes_here");
    }
    for (unsigned i = 0; i < 3; i++) CHECK_EQ(weft_sem_post(&sem), 0);
    for (unsigned i = 0; i < 3; i++) join(f[i]);
}
TEST_WITHIN(cpu_time_and_waits_are_counted_by_stack, 60) { each_size(profile_in_fiber); }

static void wrong_calls(void *unused) {
    (void)unused;
    CHECK_EQ(weft_profile_end(-1, WEFT_PROFILE_PPROF), -ESRCH);
    CHECK_EQ(weft_profile_begin(1001), -EINVAL);
    CHECK_EQ(weft_profile_begin(1000), 0);
    CHECK_EQ(weft_profile_begin(0), -EBUSY);
    CHECK_EQ(weft_profile_end(-1, (enum weft_profile_format)7), -EINVAL);
    CHECK_EQ(weft_profile_end(999999, WEFT_PROFILE_PPROF), -EBADF);
    CHECK_EQ(weft_profile_end(-1, WEFT_PROFILE_PPROF), 0);
    CHECK_EQ(weft_profile_end(-1, WEFT_PROFILE_PPROF), -ESRCH);
}
TEST(wrong_calls_are_refused) {
    CHECK_EQ(weft_profile_begin(0), -ESRCH);
    each_size(wrong_calls);
}

/* A profile that still runs when the runtime stops is dropped, and the next runtime can begin another. */
static void leaves_one(void *unused) {
    (void)unused;
    CHECK_EQ(weft_profile_begin(0), 0);
}
TEST(a_profile_ends_with_its_runtime) { each_size(leaves_one); }

static int over;
static void *churns(void *arg) {
    while (!LOAD(&over)) {
        struct weft_fiber f = spawn(computes_here, NULL);
        weft_cancel(f);
        join(f);
        weft_yield();
    }
    return arg;
}

/* The default action of SIGPROF ends a process, so no signal may come late. */
TEST_WITHIN(profiles_begin_and_end_again_and_again, 60) {
    struct weft_fiber f[4];
    test_start(4);
    STORE(&over, 0);
    for (unsigned i = 0; i < 4; i++) f[i] = spawn(churns, NULL);
    for (size_t i = 0; i < test_size(50); i++) {
        CHECK_EQ(weft_profile_begin(1000), 0);
        CHECK_EQ(weft_sleep_for(WEFT_MILLISECOND), 0);
        CHECK_EQ(weft_profile_end(-1, WEFT_PROFILE_PPROF), 0);
    }
    STORE(&over, 1);
    for (unsigned i = 0; i < 4; i++) join(f[i]);
    test_stop();
}

static int heard;
static void hears(int sig) {
    (void)sig;
    ADD(&heard, 1);
}
TEST(the_programs_own_signals_reach_its_handler) {
    struct sigaction action = {.sa_handler = hears}, before;
    CHECK(!sigaction(SIGPROF, &action, &before));
    test_start(2);
    CHECK_EQ(weft_profile_begin(0), 0);
    raise(SIGPROF);
    CHECK_EQ(LOAD(&heard), 1);
    CHECK_EQ(weft_profile_end(-1, WEFT_PROFILE_PPROF), 0);
    raise(SIGPROF);
    CHECK_EQ(LOAD(&heard), 2);
    test_stop();
    CHECK(!sigaction(SIGPROF, &before, NULL));
}
