/* SPDX-License-Identifier: MIT */
/*
 * The real ready queue (src/queue): an owner that pushes and pops, and thieves.
 *
 * Checked at the end of each run: every item was taken exactly once or is still in the queue, each taker got its items
 * in order and together, and no slot was read before its item was written. The ring begins with two slots, so it grows,
 * and shrinks again. Discarded memory then reads as nothing. Some runs begin just before the counters wrap.
 */
#define WEFT_READY_LARGE 64 /* bytes: a ring of four slots is large enough to be discarded */
#include "explore.h"

#include "base/sys.h"
#include "queue/ready_queue.h"

static struct weft__ready queue;

int weft__pages_map(void **out, size_t bytes) { return (*out = weft__alloc(bytes)) ? 0 : -1; }
void weft__pages_unmap(void *memory, size_t bytes) { (void)memory, (void)bytes; }
int weft__pages_discard(const struct weft__range *ranges, size_t n);

#include "queue/ready_queue.c"

#define OWNER 0
#define ITEMS 8
#define WORDS 64

/* The rings, allocated one after the other, with a separate area for each size. So a ring at the same place in another
 * run has the same mask. Never freed, as in the source. */
static uint64_t arena[4][WORDS];
static uint64_t first_index;

void *weft__alloc(size_t bytes) {
    unsigned size = (unsigned)__builtin_ctzl((bytes - sizeof(struct weft__ready_slots)) / 8);
    if (replay.setting_up) {
        replay.state->allocated = (uint8_t)(bytes / 8);
        return arena[size];
    }
    uint64_t at = explore_step(STEP_ALLOC, NULL, ORDER_RELAXED, bytes, NULL, EXPLORE_HERE(""));
    if (size > 3 || at + bytes / 8 > WORDS) abort();
    return &arena[size][at];
}
void weft__free(void *memory) { (void)memory; }

/* Discards every slot of the ring, including the slots of the page with the mask, which would stay. */
int weft__pages_discard(const struct weft__range *ranges, size_t n) {
    (void)n;
    struct weft__ready_slots *left = (struct weft__ready_slots *)(void *)((char *)ranges->start - WEFT_PAGE);
    for (uint64_t i = 0; i <= left->mask; i++) store_rlx(&left->slot[i], NULL);
    return 0;
}

/* A thief uses slots that it has read only after its swap. */
static bool may_be_late(unsigned t, const struct op *op) {
    const volatile uint64_t *p = op->at;
    return t != OWNER && op->kind == STEP_LOAD && op->order == ORDER_RELAXED && p >= &arena[0][0] && p < &arena[4][0];
}

static bool is_private(unsigned t, const struct op *op) {
    return t == OWNER && (op->kind == STEP_ALLOC || (op->kind == STEP_LOAD && op->at != &queue.head));
}

static struct scene {
    const char *thread[THREADS]; /* the owner: + push, - pop, s shrink; thieves: a digit takes as many items */
    uint64_t first;              /* index */
} scene;

static struct result {
    uint64_t item[ITEMS * 2], batch[ITEMS * 2]; /* batch: the call that took the item */
    unsigned n;
} results[THREADS];

static void run_thread(unsigned t) {
    struct result *r = &results[t];
    r->n = 0;
    if (t == OWNER) { /* resets the owner's private data */
        queue.head_seen = first_index;
        queue.all_slots = (struct weft__ready_slots *)(void *)arena[1];
        queue.all_slots->next = NULL;
    }
    uint64_t pushed = 0, calls = 0;
    for (const char *c = scene.thread[t]; *c; c++) {
        void *items[ITEMS];
        uint64_t got = 0;
        calls++;
        if (*c == '+')
            weft__ready_push(&queue, (void *)(uintptr_t)++pushed);
        else if (*c == 's') {
            queue.calm = true;
            weft__ready_shrink(&queue, 2);
        } else if (*c == '-')
            got = (items[0] = weft__ready_pop(&queue)) != NULL;
        else
            got = weft__ready_take(&queue, items, (uint64_t)(*c - '0'));
        for (uint64_t i = 0; i < got; i++) {
            r->batch[r->n] = calls;
            r->item[r->n++] = (uint64_t)(uintptr_t)items[i];
        }
    }
}

static void check(const struct state *s) {
    bool taken[ITEMS + 1] = {false};
    uint64_t pushed = 0, got = 0;
    for (const char *c = scene.thread[OWNER]; *c; c++) pushed += *c == '+';
    for (unsigned t = 0; t < THREADS; t++) {
        bring_back(s, t);
        uint64_t last = 0, batch = 0;
        for (unsigned i = 0; i < results[t].n; i++) {
            uint64_t item = results[t].item[i];
            if (item & TOKEN) item = s->thread[t].done_late[(item & ~TOKEN) - 1];
            wrong |= item == 0 || item > pushed || item <= last || taken[item <= ITEMS ? item : 0];
            wrong |= batch == results[t].batch[i] && item != last + 1;
            if (item <= ITEMS) taken[item] = true;
            last = item;
            batch = results[t].batch[i];
            got++;
        }
    }
    /* The remaining items are still in the queue: head and tail say how many, and which. */
    uint64_t head = newest(s, &queue.head), tail = newest(s, &queue.tail);
    wrong |= tail - head != pushed - got || head != first_index + got;
    for (uint64_t i = 1; i <= pushed; i++) wrong |= taken[i] != (i <= got);
}

static void set_up(void) {
    memset(arena, 0, sizeof arena);
    weft__ready_init(&queue, 2, first_index);
}

static bool run_scene(const struct scene *sc) {
    scene = *sc;
    first_index = sc->first;
    return explore_all();
}

#define NEAR_WRAP (UINT64_MAX - 1)

static const struct scene scenes[] = {
    /* small scenes: the mutants are searched in these */
    {{"++-", "1", "1"}, 0},
    {{"+++--", "2", ""}, NEAR_WRAP},
    {{"+-+-+", "1", "1"}, 0},
    {{"++-+", "2", "1"}, 0},
    {{"++-++", "2", ""}, NEAR_WRAP},
    {{"++-+-+", "1", ""}, 0},
    {{"+++++-", "3", ""}, 0},
    {{"+++--s+-", "1", ""}, 0},
    {{"+++--s+s-", "2", ""}, NEAR_WRAP},
    /* large scenes */
    {{"++-++", "2", "1"}, NEAR_WRAP},
    {{"++++-", "11", "2"}, NEAR_WRAP},
    {{"+-+-++-", "12", ""}, 0},
    {{"++-+++-", "21", ""}, 0},
    {{"+-+-+-+", "1", "1"}, 0},
    {{"+++-s-+", "1", "1"}, 0},
    {{"+++--ss++", "2", "1"}, NEAR_WRAP},
    {{"+++--s+++-", "2", ""}, 0},
};
#define SMALL 9
#define SCENES (sizeof scenes / sizeof scenes[0])

static bool run_all(bool loud) {
    bool good = true;
    for (unsigned i = 0; i < (loud ? SCENES : SMALL) && good; i++) {
        good = run_scene(&scenes[i]);
        if (loud)
            printf("ready %-8s %s %s: %llu states, %llu ends, %s\n", scenes[i].thread[0], scenes[i].thread[1],
                   scenes[i].thread[2], (unsigned long long)states, (unsigned long long)runs, good ? "ok" : "WRONG");
    }
    return good;
}

static bool small_are_well(void) { return run_all(false); }

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!run_all(true)) return 1;
    weaken_all(small_are_well);
    return 0;
}
