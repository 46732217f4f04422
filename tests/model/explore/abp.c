/* SPDX-License-Identifier: MIT */
/* The real deque of Arora, Blumofe and Plaxton (src/queue), with room for three items. */
#include "deques.h"

#include "queue/abp.h"

#include "queue/abp.c"

#define BOUND 3

static struct weft__abp queue;

/* A thief uses what it has read only after its swap. */
static bool may_be_late(unsigned t, const struct op *op) {
    return t != OWNER && op->kind == STEP_LOAD && op->order == ORDER_RELAXED && in_arena(op->at);
}

static bool is_private(unsigned t, const struct op *op) {
    return t == OWNER && (op->kind == STEP_LOAD && op->at != &queue.age);
}

static void deque_init(uint64_t first) { weft__abp_init(&queue, BOUND, (uint32_t)first); }
static void deque_owner_anew(void) {}
static int deque_push(void *item) { return weft__abp_push(&queue, item); }
static void *deque_pop(void) { return weft__abp_pop(&queue); }
static void *deque_steal(void) { return weft__abp_steal(&queue); }
static uint64_t deque_length(const struct state *s) {
    return newest(s, &queue.bottom) - (uint32_t)newest(s, &queue.age);
}

static const struct scene scenes[] = {
    /* small scenes: the mutants are searched in these */
    {{"+-", "s", "s"}, 0},
    {{"++--", "ss", ""}, UINT32_MAX},
    {{"++--", "s", "s"}, 0},
    {{"+-+-", "s", "s"}, UINT32_MAX},
    {{"++-+", "ss", ""}, 0},
    {{"+++--", "s", "s"}, 0},
    {{"++-+", "s", "ss"}, 0},
    {{"++++", "sss", "s"}, 0},
    /* large scenes */
    {{"+++---", "s", "s"}, UINT32_MAX},
    {{"+++--", "ss", "s"}, 0},
    {{"+-+-+-", "s", "s"}, 0},
    {{"++++-", "ss", "s"}, 0},
};

int main(void) { return explore_scenes("abp", scenes, sizeof scenes / sizeof *scenes, 8); }
