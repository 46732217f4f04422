/* SPDX-License-Identifier: MIT */
/*
 * The real deque of Chase and Lev (src/queue). It begins with two slots, so it grows and shrinks. Discarded memory then
 * reads as nothing.
 */
#define WEFT_CHASE_LEV_LARGE 48 /* bytes: a ring of four slots is large enough to be discarded */
#define VALUES 16
#define LOG 240
#include "deques.h"

#include "queue/chase_lev.h"

#include "base/sys.h"

static struct weft__chase_lev queue;

int weft__pages_map(void **out, size_t bytes) { return (*out = weft__alloc(bytes)) ? 0 : -1; }
void weft__pages_unmap(void *memory, size_t bytes) { (void)memory, (void)bytes; }
int weft__pages_discard(const struct weft__range *ranges, size_t n);

#include "queue/chase_lev.c"

/* Discards every slot of the array that was left, which is larger than the array in use. */
int weft__pages_discard(const struct weft__range *ranges, size_t n) {
    (void)ranges, (void)n;
    struct weft__chase_lev_slots *left = queue.all_slots[queue.size + 1];
    for (uint64_t i = 0; i <= left->mask; i++) store_rlx(&left->slot[i], NULL);
    return 0;
}

/* A thief uses what it has read before its swap. */
static bool may_be_late(unsigned t, const struct op *op) {
    (void)t, (void)op;
    return false;
}

static bool is_private(unsigned t, const struct op *op) {
    return t == OWNER && (op->kind == STEP_ALLOC || (op->kind == STEP_LOAD && op->at != &queue.top));
}

static void deque_init(uint64_t first) { weft__chase_lev_init(&queue, 2, first); }
static void deque_owner_anew(void) {
    queue.top_seen = scene.first;
    queue.few = queue.size = 0;
    for (unsigned i = 1; i < WEFT_CHASE_LEV_SIZES; i++) queue.all_slots[i] = NULL;
}
static int deque_push(void *item) { return weft__chase_lev_push(&queue, item); }
static void *deque_pop(void) { return weft__chase_lev_pop(&queue); }
static void *deque_steal(void) { return weft__chase_lev_steal(&queue); }
static uint64_t deque_length(const struct state *s) { return newest(s, &queue.bottom) - newest(s, &queue.top); }

#define NEAR_WRAP (UINT64_MAX - 1)

static const struct scene scenes[] = {
    /* small scenes: the mutants are searched in these */
    {{"+-", "s", "s"}, 0},
    {{"++--", "ss", ""}, NEAR_WRAP},
    {{"++--", "s", "s"}, 0},
    {{"+-+-", "s", "s"}, 0},
    {{"+++", "s", ""}, 0},
    {{"++-+", "ss", ""}, 0},
    {{"+++++--", "s", ""}, 0},
    {{"+++++----", "s", ""}, 0},
    /* large scenes */
    {{"+++---", "s", "s"}, NEAR_WRAP},
    {{"+++--", "ss", "s"}, 0},
    {{"+++++-----", "s", ""}, NEAR_WRAP},
    {{"+++++---++", "s", ""}, 0},
};

int main(void) { return explore_scenes("chase-lev", scenes, sizeof scenes / sizeof *scenes, 8); }
