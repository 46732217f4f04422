/* SPDX-License-Identifier: MIT */
/*
 * Explores the generations of a descriptor, with the real io/fd_generation.h and fd_generation.c. One waiter begins,
 * and another tries again what it began before, while the number is closed and soon belongs to another file. Queue and
 * ring work as in readiness.c, sched/rings/rings.c and engine.c. close.pml has more waiters, and a ring that submits
 * late.
 *
 * Each thread waits only on the file that it began with, and no thread waits on a closed file.
 */
#include "workers.h"

#include "io/fd_generation.c"

enum { CLOSER, WAITER, HOLDER };
enum { IN_QUEUE, IN_RING };
#define FD 3

static struct {
    uint8_t way;
    struct weft__lock kernel, queue; /* queue: the lock of the waiters, or of the ring */
    uint64_t file;                   /* the file that has the number */
    uint64_t on;                     /* the file on which the waiter waits; 0: none */
    _Atomic uint32_t count;          /* requests under way for this number */
    uint64_t generation;             /* the generation in which the holder began */
} s;

/* --- what is underneath ---------------------------------------------------------------------------------- */

static uint64_t kernel_file(void) {
    weft__lock(&s.kernel);
    uint64_t file = s.file;
    weft__unlock(&s.kernel);
    return file;
}
static void kernel_close(uint64_t next) {
    weft__lock(&s.kernel);
    s.file = next;
    weft__unlock(&s.kernel);
}
void explored_switch(struct weft__context *from, struct weft__context *to) { (void)from, (void)to; }
bool weak_goes_too_far(void) { return false; }

/* --- what the threads do ----------------------------------------------------------------------------------- */

static void begin_wait(void) {
    uint64_t generation = weft__fd_generation_read(FD);
    uint64_t meant = kernel_file();
    weft__lock(&s.queue);
    if (s.way == IN_RING) add_sc(&s.count, 1); /* weft__ring_claim */
    if (weft__fd_generation_is_stale(FD, generation)) {
        if (s.way == IN_RING) add_ar(&s.count, -1u);
    } else {
        s.on = kernel_file();
        claim(s.on == meant, "waits on another file");
    }
    weft__unlock(&s.queue);
}

static void try_again(void) {
    if (!weft__fd_hold(FD, s.generation)) return;
    claim(kernel_file() == 1, "tries another file");
    weft__fd_release(FD);
}

static void end_waits(void) {
    if (s.on && s.way == IN_RING) add_ar(&s.count, -1u);
    s.on = 0;
}

/* close_it in engine.c. */
static void close_it(void) {
    if (s.way == IN_QUEUE) { /* weft__readiness_close */
        weft__lock(&s.queue);
        weft__fd_begin_close(FD);
        end_waits();
        weft__unlock(&s.queue);
    } else {
        weft__fd_begin_close(FD);
        while (load_sc(&s.count)) { /* weft__rings_close_fd */
            weft__lock(&s.queue);
            end_waits();
            weft__unlock(&s.queue);
        }
    }
    weft__fd_await_holders(FD);
    kernel_close(2);
    weft__fd_end_close(FD);
}

void run_thread(unsigned t) {
    if (t == CLOSER) close_it();
    if (t == WAITER) begin_wait();
    if (t == HOLDER) try_again();
}

/* --- scenes -------------------------------------------------------------------------------------------------- */

static void set_up_for(unsigned way) {
    s.way = (uint8_t)way;
    s.file = 1;
    s.generation = weft__fd_generation_read(FD);
}
static void queue(void) { set_up_for(IN_QUEUE); }
static void ring(void) { set_up_for(IN_RING); }

static void check(void) {
    for (unsigned t = 0; t < 3; t++) claim(!weak_goes_on(t), "waits for ever");
    claim(s.on != 1, "waits on what was closed");
}

static bool all_scenes(void) {
    return weak_explore(&(struct weak_scene){"close, waiters in a queue", 3, queue, check}) &&
           weak_explore(&(struct weak_scene){"close, waiters in a ring", 3, ring, check});
}

int main(int argc, char **argv) {
    weak_share(&s, sizeof s);
    weak_share((void *)weft__fd_generation_word(FD), sizeof(uint64_t));
    weak_share((void *)held_of(FD), sizeof(uint32_t));
    weak_share((void *)guess_of(FD), sizeof(uint16_t));
    weak_share((void *)&used, sizeof used);
    return weak_main(argc, argv, all_scenes);
}
