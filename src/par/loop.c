/* SPDX-License-Identifier: MIT */
/*
 * How a range is cut and run. A piece is forked as a task. Its record is in the frame that cuts, which joins it before
 * it returns. There are four ways:
 *
 *   tree   (morsel, grain, static) A range that is too large is cut in two: the right part is forked, the left part
 *          continues. So there is always a piece to steal, the oldest and largest first, even while a body computes
 *          for long. Without thieves a cut costs a fork and a join, some nanoseconds. Too large means: for grain,
 *          more than the grain; for static, which cuts whole parts, more than one part; for morsel, more than what
 *          recently took `budget` on this worker and for this piece.
 *   lazy   Runs `grain` elements at a time from the left. When a worker looks for work, half of the rest is forked.
 *          While a body runs, which may wait, all of the rest is forked, and taken back when the body returns. With
 *          continuation stealing it runs morsel by morsel, and does not fork the rest: a fork leaves a caller behind,
 *          which becomes ready when the loop yields, and other fibers would have to wait behind the callers of all
 *          cuts.
 *   probe  A morsel loop over many elements first runs a few of them alone, until a quarter of a budget has passed.
 *          A loop that is over by then has woken no worker. If a body waits, the rest continues meanwhile.
 *   known  A morsel loop with the function and length of an earlier loop is not probed: the cost of its elements is
 *          remembered. It runs alone if it is too short to share; else it starts with a part for each worker.
 *
 * Parts belong to workers, or to processors where there are fewer of these. A worker that cuts a range of parts keeps
 * the side with its own part and forks the other side. The fiber that runs the loop may go on at another worker after a
 * join. If it began every loop with the first part, the halves of the data would then change caches.
 *
 * A range is cut a little off the middle: halves of halves would start at addresses that share a few cache sets. It is
 * cut at seven sixteenths, so that the thief of the right part starts early with the middle of the range; otherwise a
 * long element there would come last. Cuts are at multiples of `unit`, where cache lines start, so that no two workers
 * write the same line.
 *
 * A reduction has a value for each piece: the left part continues with the value of the whole, the right part starts
 * with the identity, and the join combines it. So the order of the elements is kept.
 */
#include "par/loop.h"
#include "sched/tasks/tasks.h"

#include <string.h>

#define WEFT_FOR_BUDGET (40 * WEFT_MICROSECOND)
#define WEFT_LINE 64
#define WEFT_PROBE_FROM 32 /* elements a worker; with fewer, each is probably long */
#define WEFT_GROW_MOST 8
#define WEFT_MORSELS 32 /* for each worker, at least */
#define WEFT_VALUE_ON_STACK 512
#define WEFT_COST 64                              /* the unit in which costs are remembered */
#define WEFT_PIECE_LEAST (5 * WEFT_MICROSECOND)   /* shortest piece of a loop with known cost */
#define WEFT_WORTH_A_STEAL (4 * WEFT_MICROSECOND) /* a longer loop is shared if a worker searches */

struct piece {
    struct weft_task task;
    struct weft__loop *loop;
    size_t begin, end; /* of elements, or of parts */
    void *value;
    _Atomic size_t step; /* morsel: elements that take about a budget, by the last worker that ran some */
    bool parts;          /* begin and end count parts */
};

/* What a worker has measured about the elements that it runs. */
struct pace {
    size_t step;   /* elements for the next piece */
    uint64_t cost; /* ns of WEFT_COST elements in the last piece; 0: unknown */
};

static inline bool loop_ended(struct weft__loop *loop) { return weft__par_is_over(&loop->result); }

/* --- one piece ---------------------------------------------------------------------------------- */

static void call_body(struct weft__loop *loop, size_t begin, size_t end, void *value) {
    WEFT_BARRIER(barrier, loop->name);
    int result = loop->body ? loop->body(begin, end, loop->arg) : loop->fold(begin, end, value, loop->arg);
    barrier = NULL;
    weft__par_set_result(&loop->result, result);
}

static void loop_call(struct weft__loop *loop, size_t begin, size_t end, void *value) {
    call_body(loop, begin, end, value);
    weft__par_yield();
}

/* The size of the next piece, after a piece of n elements took `took`. A short piece shows that the next may be larger,
 * but not that it should be smaller. Never more than loop->most: elements elsewhere in the range may cost more. */
static size_t next_step(const struct weft__loop *loop, size_t step, size_t n, uint64_t took) {
    size_t next;
    if (took >= loop->budget)
        next = n / (took / loop->budget);
    else {
        uint64_t more = took ? loop->budget / took : WEFT_GROW_MOST;
        if (more > WEFT_GROW_MOST) more = WEFT_GROW_MOST;
        next = n > SIZE_MAX / WEFT_GROW_MOST ? SIZE_MAX : n * more;
        if (took < loop->budget / 2 && next < step) next = step;
    }
    if (next > loop->most) next = loop->most;
    return next > loop->grain ? next : loop->grain;
}

static void set_pace(const struct weft__loop *loop, struct pace *pace, size_t n, uint64_t took) {
    pace->step = next_step(loop, pace->step, n, took);
    pace->cost = took * WEFT_COST / n + 1;
}

static void call_timed(struct weft__loop *loop, size_t begin, size_t end, void *value, struct pace *pace) {
    uint64_t began = weft__clock();
    loop_call(loop, begin, end, value);
    set_pace(loop, pace, end - begin, weft__clock() - began);
}

/* --- where to cut ------------------------------------------------------------------------------- */

size_t weft__loop_unit(size_t element) {
    if (!element) return 0;
    size_t common = element & -element; /* the largest power of two that divides it */
    return common >= WEFT_LINE ? 1 : WEFT_LINE / common;
}

/* The last multiple of a unit that is not above mid, if there is one within the range. */
static size_t at_line(const struct weft__loop *loop, size_t begin, size_t end, size_t mid) {
    size_t unit = loop->unit ? loop->unit : end - begin >= 16 * WEFT_LINE ? WEFT_LINE : 1;
    size_t line = mid - mid % unit;
    if (line > begin) return line;
    return unit - mid % unit < end - mid ? line + unit : mid;
}

static size_t loop_cut(const struct weft__loop *loop, size_t begin, size_t end) {
    size_t n = end - begin;
    if (loop->partition == WEFT_FOR_STATIC) return begin + (n + 1) / 2;
    return at_line(loop, begin, end, begin + (n < 16 ? n / 2 : n / 16 * 7));
}

/* The index at which part k starts. */
static size_t part_begin(const struct weft__loop *loop, size_t k) {
    size_t n = loop->end - loop->begin, each = n / loop->parts, more = n % loop->parts;
    if (k == 0 || k == loop->parts) return k ? loop->end : loop->begin;
    size_t at = loop->begin + each * k + (k < more ? k : more), line = loop->unit ? at - at % loop->unit : at;
    return line > loop->begin ? line : loop->begin;
}

static void call_part(struct weft__loop *loop, size_t k, void *value) {
    size_t at = part_begin(loop, k), end = part_begin(loop, k + 1);
    while (at < end && !loop_ended(loop)) {
        size_t to = loop->grain && end - at > loop->grain ? at + loop->grain : end;
        loop_call(loop, at, to, value);
        at = to;
    }
}

/* --- cutting ------------------------------------------------------------------------------------ */

static void loop_run_piece(void *piece);

static void run_left(struct weft__loop *loop, size_t begin, size_t mid, void *value, struct pace *pace);
static void loop_run_parts(struct weft__loop *loop, size_t first, size_t end, void *value, struct pace *pace);

/*
 * Makes all forked calls public if none is. Otherwise thieves would ask for calls and wait until the next fork, which
 * may be a morsel away. The join of a public call takes a lock, which costs little compared with a morsel.
 */
static void loop_offer(void) {
    struct weft__deque *d = load_rlx(&weft__self()->calls.deque);
    if (d && d->variant->yield && !d->variant->ready(d)) d->variant->yield(d);
}

/* A range of elements or parts that is cut in two. */
struct range {
    size_t begin, mid, end;
    bool parts;
};

static void run_range(struct weft__loop *loop, size_t begin, size_t end, bool parts, void *value, struct pace *pace) {
    (parts ? loop_run_parts : run_left)(loop, begin, end, value, pace);
}

/* The part that the calling worker should run. If there are more workers than parts, the part goes with the processor:
 * its cache holds the data, whichever worker runs there. */
static size_t own_part(const struct weft__loop *loop) {
    const struct weft__worker *w = weft__self();
    return loop->parts < loop->workers ? load_rlx(&w->cpu) % loop->parts : w->index;
}

/* Is the part of the worker that cuts the range on its right side? */
static bool keeps_right(const struct weft__loop *loop, const struct range *r) {
    if (!r->parts && loop->partition != WEFT_FOR_STATIC) return false;
    size_t own = own_part(loop);
    return own >= r->mid && own < r->end;
}

/* Forks one side, mostly [mid, end), runs the other side, and joins. room: for the value of the right side. */
static void cut_in_two(struct weft__loop *loop, struct range r, void *value, struct pace *pace, void *room) {
    struct piece forked = {.loop = loop, .begin = r.mid, .end = r.end, .value = room, .parts = r.parts};
    size_t begin = r.begin, end = r.mid;
    void *kept = value;
    if (keeps_right(loop, &r)) {
        forked.begin = r.begin;
        forked.end = begin = r.mid;
        forked.value = value;
        end = r.end;
        kept = room;
    }
    store_rlx(&forked.step, pace->step);
    if (loop->size) memcpy(room, loop->identity, loop->size);
    weft_task_fork(&forked.task, loop_run_piece, &forked);
    if (loop->partition == WEFT_FOR_MORSEL) loop_offer();
    run_range(loop, begin, end, r.parts, kept, pace);
    store_rlx(&forked.step, pace->step); /* a worker that starts it later knows the new pace */
    weft_task_join(&forked.task);
    pace->step = load_rlx(&forked.step);
    if (loop->size) loop->combine(value, room, loop->arg);
}

/* The same for a large value, with memory from the heap. Without memory, both parts run one after the other into the
 * same value. */
static WEFT_COLD void cut_with_memory(struct weft__loop *loop, struct range r, void *value, struct pace *pace) {
    void *room = weft__alloc(loop->size);
    if (room)
        cut_in_two(loop, r, value, pace, room);
    else {
        run_range(loop, r.begin, r.mid, r.parts, value, pace);
        run_range(loop, r.mid, r.end, r.parts, value, pace);
    }
    weft__free(room);
}

static void cut_at(struct weft__loop *loop, struct range r, void *value, struct pace *pace) {
    if (unlikely(loop->size > WEFT_VALUE_ON_STACK)) {
        cut_with_memory(loop, r, value, pace);
        return;
    }
    max_align_t room[loop->size / sizeof(max_align_t) + 1];
    cut_in_two(loop, r, value, pace, room);
}

static bool is_small(const struct weft__loop *loop, size_t n, size_t step) {
    if (loop->partition == WEFT_FOR_MORSEL) return n <= step || n - step <= step / 2;
    return n <= (loop->partition == WEFT_FOR_STATIC ? 1 : loop->grain);
}

static void loop_run_tree(struct weft__loop *loop, size_t begin, size_t end, void *value, struct pace *pace) {
    if (loop_ended(loop)) return;
    if (!is_small(loop, end - begin, pace->step))
        cut_at(loop, (struct range){begin, loop_cut(loop, begin, end), end, false}, value, pace);
    else if (loop->partition == WEFT_FOR_MORSEL)
        call_timed(loop, begin, end, value, pace);
    else if (loop->partition == WEFT_FOR_STATIC)
        call_part(loop, begin, value);
    else
        loop_call(loop, begin, end, value);
}

/* The rest of a range, which can be stolen while a piece runs. */
struct rest {
    struct piece piece;
    _Atomic bool back; /* the owner wants it back */
    bool ran;          /* a thief has run it */
};

/* Run by a thief, or by the join of the owner. If the owner already wants the rest back, a thief may run it or not;
 * `ran` says whether it did, and the join orders that. */
static void run_rest(void *p) {
    struct rest *rest = p;
    if (load_rlx(&rest->back)) return;
    rest->ran = true;
    loop_run_piece(&rest->piece);
}

/* Runs [begin, mid). The body may wait, so [mid, end) is forked first. If no thief has taken it, the join calls
 * run_rest, which returns at once, and the caller continues with it. True: a thief has run it. */
static bool call_before_rest(struct weft__loop *loop, size_t begin, size_t mid, size_t end, void *value,
                             const struct pace *pace, int (*fork)(struct weft_task *, void (*)(void *), void *)) {
    max_align_t room[loop->size / sizeof(max_align_t) + 1];
    struct rest rest = {.piece = {.loop = loop, .begin = mid, .end = end, .value = room}};
    store_rlx(&rest.piece.step, pace->step);
    if (loop->size) memcpy(room, loop->identity, loop->size);
    fork(&rest.piece.task, run_rest, &rest);
    call_body(loop, begin, mid, value);
    store_rlx(&rest.back, true);
    weft_task_join(&rest.piece.task);
    if (rest.ran && loop->size) loop->combine(value, room, loop->arg);
    weft__par_yield(); /* not before the join: another fiber would take the rest each time */
    return rest.ran;
}

static void loop_run_lazily(struct weft__loop *loop, size_t begin, size_t end, void *value, struct pace *pace) {
    while (begin < end && !loop_ended(loop)) {
        size_t n = end - begin, piece = loop->partition == WEFT_FOR_LAZY ? loop->grain : pace->step;
        if (n > piece && weft__par_has_idle_worker()) {
            size_t mid = at_line(loop, begin, end, begin + (n + 1) / 2);
            cut_at(loop, (struct range){begin, mid, end, false}, value, pace);
            return;
        }
        size_t to = n > piece ? begin + piece : end;
        if (to < end && loop->forks_rest) {
            if (call_before_rest(loop, begin, to, end, value, pace, weft_task_fork)) return;
        } else if (loop->partition == WEFT_FOR_LAZY)
            loop_call(loop, begin, to, value);
        else
            call_timed(loop, begin, to, value, pace);
        begin = to;
    }
}

static void run_left(struct weft__loop *loop, size_t begin, size_t mid, void *value, struct pace *pace) {
    (loop->lazily ? loop_run_lazily : loop_run_tree)(loop, begin, mid, value, pace);
}

/* Runs parts [first, end), each cut into pieces. */
static void loop_run_parts(struct weft__loop *loop, size_t first, size_t end, void *value, struct pace *pace) {
    size_t begin = part_begin(loop, first), to = part_begin(loop, end);
    if (end - first > 1)
        cut_at(loop, (struct range){first, first + (end - first + 1) / 2, end, true}, value, pace);
    else if (begin < to)
        run_left(loop, begin, to, value, pace);
}

static void loop_run_piece(void *piece) {
    struct piece *p = piece;
    struct pace pace = {.step = load_rlx(&p->step)};
    run_range(p->loop, p->begin, p->end, p->parts, p->value, &pace);
    store_rlx(&p->step, pace.step);
}

/* --- costs of earlier loops --------------------------------------------------------------------- */

/*
 * The cost of an element, by the function and length of the loop: the upper 32 bits of a word are a tag, the lower 32
 * bits the cost. A word is read and written as a whole. It is only a hint: loops of the same function and length may
 * cost anything, and two loops may share a word.
 */
#define WEFT_LESSONS 256
static _Atomic uint64_t lessons[WEFT_LESSONS];

static _Atomic uint64_t *lesson_of(const struct weft__loop *loop, uint64_t *tag) {
    uint64_t function = loop->body ? (uint64_t)(uintptr_t)loop->body : (uint64_t)(uintptr_t)loop->fold;
    uint64_t mixed = (function ^ (uint64_t)(loop->end - loop->begin) << 20) * UINT64_C(0x9e3779b97f4a7c15);
    *tag = mixed & UINT64_C(0xffffffff00000000);
    return &lessons[mixed >> 16 & (WEFT_LESSONS - 1)];
}

static uint64_t learnt_cost(const struct weft__loop *loop) {
    uint64_t tag, word = load_rlx(lesson_of(loop, &tag));
    return (word & UINT64_C(0xffffffff00000000)) == tag ? word & UINT32_MAX : 0;
}

/* Writes only changes of more than an eighth: the word is shared. */
static void loop_learn(const struct weft__loop *loop, uint64_t known, uint64_t cost) {
    uint64_t tag, difference = known > cost ? known - cost : cost - known;
    _Atomic uint64_t *lesson = lesson_of(loop, &tag);
    if (cost && difference > known / 8) store_rlx(lesson, tag | (cost < UINT32_MAX ? cost : UINT32_MAX));
}

/* --- the whole loop ----------------------------------------------------------------------------- */

static bool is_worth_a_probe(const struct weft__loop *loop) {
    return (loop->end - loop->begin) / loop->grain > (size_t)WEFT_PROBE_FROM * loop->workers;
}

/* Runs some elements alone; returns where the rest starts. If a body waits, the rest continues meanwhile. */
static size_t loop_probe(struct weft__loop *loop, void *value, struct pace *pace) {
    size_t at = loop->begin;
    uint64_t began = weft__clock(), now = began;
    while (at < loop->end && now - began < loop->budget / 4 && !loop_ended(loop)) {
        size_t to = loop->end - at > pace->step ? at + pace->step : loop->end;
        uint64_t before = now;
        if (to == loop->end || !loop->forks_rest)
            loop_call(loop, at, to, value);
        else if (call_before_rest(loop, at, to, loop->end, value, pace, weft__task_fork_quietly))
            return loop->end;
        now = weft__clock();
        set_pace(loop, pace, to - at, now - before);
        at = to;
    }
    return at;
}

/* How many elements take this long, if WEFT_COST elements cost `cost`. */
static size_t elements_in(uint64_t nanoseconds, uint64_t cost) {
    return nanoseconds < UINT64_MAX / WEFT_COST ? (size_t)(nanoseconds * WEFT_COST / cost) : SIZE_MAX;
}

/*
 * Runs a loop like an earlier one, whose duration is known, so it need not be probed. If the loop would be over before
 * another worker could begin, it runs alone. Otherwise each worker gets an equal part at once, and begins with its own
 * part, so that loops over the same memory find it in the caches of the same workers. A worker that is done steals from
 * the others.
 */
static void run_known(struct weft__loop *loop, uint64_t cost, void *value, struct pace *pace) {
    size_t n = loop->end - loop->begin, least = elements_in(WEFT_PIECE_LEAST, cost);
    uint64_t shortest = loop->budget / 2;
    if (shortest > WEFT_WORTH_A_STEAL && weft__par_has_searcher()) shortest = WEFT_WORTH_A_STEAL;
    bool alone = n <= elements_in(shortest, cost);
    unsigned run_capacity = load_rlx(&weft__self()->cluster->run_capacity);
    if (run_capacity && run_capacity < loop->parts) loop->parts = run_capacity;
    if (loop->most < least) loop->most = least;
    pace->step = elements_in(loop->budget, cost);
    if (pace->step > loop->most) pace->step = loop->most;
    if (pace->step < loop->grain) pace->step = loop->grain;
    if (alone && loop->workers > 1)
        call_timed(loop, loop->begin, loop->end, value, pace);
    else
        loop_run_parts(loop, 0, loop->parts, value, pace);
}

static void run_morsels(struct weft__loop *loop, void *value) {
    struct pace pace = {.step = loop->grain};
    bool learns = is_worth_a_probe(loop);
    uint64_t known = learns && !loop->lazily ? learnt_cost(loop) : 0;
    if (known)
        run_known(loop, known, value, &pace);
    else {
        size_t rest = learns ? loop_probe(loop, value, &pace) : loop->begin;
        if (rest < loop->end) run_left(loop, rest, loop->end, value, &pace);
    }
    if (learns) loop_learn(loop, known, pace.cost);
}

int weft__loop_set_options(struct weft__loop *loop, const struct weft_for_options *options) {
    static const struct weft_for_options none = WEFT_FOR_INIT;
    if (!options) options = &none;
    if (options->partition > WEFT_FOR_GRAIN || options->spread > WEFT_SPREAD_UNEVEN) return -EINVAL;
    loop->partition = options->partition;
    loop->spread = options->spread;
    loop->affinity = options->affinity;
    loop->grain = options->grain || options->partition == WEFT_FOR_STATIC ? options->grain : 1;
    loop->unit = weft__loop_unit(options->element);
    loop->element = options->element;
    loop->budget = options->budget ? options->budget : WEFT_FOR_BUDGET;
    return 0;
}

void weft__loop_run_part(struct weft__loop *loop, size_t part, void *value) {
    size_t begin = part_begin(loop, part), end = part_begin(loop, part + 1);
    struct pace pace = {.step = loop->grain};
    if (loop->partition == WEFT_FOR_STATIC)
        call_part(loop, part, value);
    else if (begin < end)
        run_left(loop, begin, end, value, &pace);
}

int weft__loop_run(struct weft__loop *loop, void *value) {
    struct pace pace = {.step = loop->grain};
    if (loop->begin == loop->end) return 0;
    loop->workers = loop->parts = weft__par_count_workers();
    bool continued = weft__self()->cluster->tasks.variant == &weft__deque_kept;
    loop->lazily = loop->partition == WEFT_FOR_LAZY || (loop->partition == WEFT_FOR_MORSEL && continued);
    loop->forks_rest = !continued && loop->size <= WEFT_VALUE_ON_STACK;
    loop->most = (loop->end - loop->begin) / loop->workers / WEFT_MORSELS;
    bool directed = loop->spread != WEFT_SPREAD_NONE || loop->affinity;
    if (directed && weft__loop_run_spread(loop, value)) return load_rlx(&loop->result);
    if (loop->partition == WEFT_FOR_STATIC)
        loop_run_tree(loop, 0, loop->parts, value, &pace);
    else if (loop->partition == WEFT_FOR_MORSEL)
        run_morsels(loop, value);
    else
        run_left(loop, loop->begin, loop->end, value, &pace);
    return load_rlx(&loop->result); /* the joins have ordered it */
}
