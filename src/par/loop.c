/*
 * How a range is cut and run. A piece is forked as a task; its record stands in the frame that cuts, which
 * joins it before it returns. The partitioners are four shapes:
 *
 *   tree   (morsel, grain, static) a range that is too large is cut in two, the right part is forked, the left
 *          one goes on. So there is always something to steal, the oldest and largest first, also while a
 *          body computes for long; and when nobody steals, a cut costs a fork and a join, some nanoseconds.
 *          What is too large: for grain, more than so many; for static, which cuts whole parts, more than
 *          one; for morsel, more than took `budget` lately, by the clock, on this worker and for this piece.
 *   lazy   `grain` by `grain` from the left; when a worker looks for work, half of the rest is forked. While a body
 *          runs, which may wait, all of the rest is forked, and taken back when the body returns. With continuation
 *          stealing, morsel by morsel: there a fork leaves a caller behind, which becomes ready when the loop lets
 *          others in; with one for each cut those would come after as many callers. The rest is not forked there.
 *   probe  a morsel loop over many elements first runs a few of them, alone, until a quarter of a budget has
 *          passed. A loop that is over by then has forked nothing and woken no worker.
 *   known  a morsel loop with the function and the length of an earlier one is not probed: what its elements cost is
 *          remembered. It is run alone if that is too little to be shared; otherwise it begins with a part a worker.
 *
 * A range is cut a little off the middle: halves of halves would begin at addresses that share the same few
 * sets of a cache. At seven sixteenths, so that what stands in the middle is begun early, by whoever takes the
 * right part; one long element there would else come last. And at multiples of `unit`, where cache lines begin,
 * so that no two workers write the same line.
 *
 * A reduction has a value for each piece: the left part goes on with the one of the whole, the right part
 * begins with the identity, and is combined into it by whoever joins. So the order of the elements is kept.
 */
#include "par/loop.h"

#include <string.h>

#define WEFT_FOR_BUDGET (40 * WEFT_MICROSECOND)
#define WEFT_LINE 64
#define WEFT_PROBE_FROM 32 /* elements a worker; with fewer, each is likely to be long */
#define WEFT_GROW_MOST 8
#define WEFT_MORSELS 32 /* a worker, at least */
#define WEFT_VALUE_ON_STACK 512
#define WEFT_COST 64                              /* what these elements cost is remembered */
#define WEFT_PIECE_LEAST (5 * WEFT_MICROSECOND)   /* pieces of a loop whose cost is known are not shorter */
#define WEFT_WORTH_A_STEAL (4 * WEFT_MICROSECOND) /* a loop that takes longer is shared with a worker that searches */

struct piece {
    struct weft_task task;
    struct weft__loop *loop;
    size_t begin, end; /* static: of parts */
    void *value;
    _Atomic size_t step; /* morsel: elements that took about a budget, as seen by the last worker that ran some */
    bool parts;          /* begin and end count parts */
};

/* What a worker knows of the elements that it runs. */
struct pace {
    size_t step;   /* how many a piece should have */
    uint64_t cost; /* ns of WEFT_COST elements, as of the last piece; 0: not known */
};

static inline bool ended(struct weft__loop *loop) { return weft__par_over(&loop->result); }

/* --- one piece ---------------------------------------------------------------------------------- */

static void call_body(struct weft__loop *loop, size_t begin, size_t end, void *value) {
    WEFT_BARRIER(barrier, loop->name);
    int result = loop->body ? loop->body(begin, end, loop->arg) : loop->fold(begin, end, value, loop->arg);
    barrier = NULL;
    weft__par_end(&loop->result, result);
}

static void call(struct weft__loop *loop, size_t begin, size_t end, void *value) {
    call_body(loop, begin, end, value);
    weft__let_in();
}

/* What the next piece should have, when one of n elements took so long. A short one tells that there may be
 * more, but not that there should be less: it may just have been short. Never more than loop->most: elsewhere in
 * the range they may cost more than here. */
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

static uint64_t call_timed(struct weft__loop *loop, size_t begin, size_t end, void *value, struct pace *pace) {
    uint64_t began = weft__clock();
    call(loop, begin, end, value);
    uint64_t took = weft__clock() - began;
    pace->step = next_step(loop, pace->step, end - begin, took);
    pace->cost = took * WEFT_COST / (end - begin) + 1;
    return took;
}

/* --- where to cut ------------------------------------------------------------------------------- */

size_t weft__loop_unit(size_t element) {
    if (!element) return 0;
    size_t common = element & -element; /* the largest power of two in it */
    return common >= WEFT_LINE ? 1 : WEFT_LINE / common;
}

/* The last multiple of a unit that is not above mid, if there is one within the range. */
static size_t at_line(const struct weft__loop *loop, size_t begin, size_t end, size_t mid) {
    size_t unit = loop->unit ? loop->unit : end - begin >= 16 * WEFT_LINE ? WEFT_LINE : 1;
    size_t line = mid - mid % unit;
    if (line > begin) return line;
    return unit - mid % unit < end - mid ? line + unit : mid;
}

static size_t cut(const struct weft__loop *loop, size_t begin, size_t end) {
    size_t n = end - begin;
    if (loop->partition == WEFT_FOR_STATIC) return begin + (n + 1) / 2;
    return at_line(loop, begin, end, begin + (n < 16 ? n / 2 : n / 16 * 7));
}

/* Where part k begins. */
static size_t part_begin(const struct weft__loop *loop, size_t k) {
    size_t n = loop->end - loop->begin, each = n / loop->parts, more = n % loop->parts;
    if (k == 0 || k == loop->parts) return k ? loop->end : loop->begin;
    size_t at = loop->begin + each * k + (k < more ? k : more), line = loop->unit ? at - at % loop->unit : at;
    return line > loop->begin ? line : loop->begin;
}

static void call_part(struct weft__loop *loop, size_t k, void *value) {
    size_t at = part_begin(loop, k), end = part_begin(loop, k + 1);
    while (at < end && !ended(loop)) {
        size_t to = loop->grain && end - at > loop->grain ? at + loop->grain : end;
        call(loop, at, to, value);
        at = to;
    }
}

/* --- cutting ------------------------------------------------------------------------------------ */

static void run_piece(void *piece);

static void run_left(struct weft__loop *loop, size_t begin, size_t mid, void *value, struct pace *pace);
static void run_parts(struct weft__loop *loop, size_t first, size_t end, void *value, struct pace *pace);

/*
 * The next fork may be a morsel away, and thieves should not have to ask and wait for it: if nothing of what
 * was forked is public, all of it becomes so. The join then takes a lock, which is little beside a morsel.
 */
static void offer(void) {
    struct weft__deque *d = load_rlx(&weft__self()->deque);
    if (d && d->kind->yield && !d->kind->ready(d)) d->kind->yield(d);
}

/* A range of elements, or of parts, that is cut in two. */
struct range {
    size_t begin, mid, end;
    bool parts;
};

static void run_range(struct weft__loop *loop, size_t begin, size_t end, bool parts, void *value, struct pace *pace) {
    (parts ? run_parts : run_left)(loop, begin, end, value, pace);
}

/* Forks [mid, end), runs [begin, mid), joins. room: for the value of the right part. */
static void cut_in_two(struct weft__loop *loop, struct range r, void *value, struct pace *pace, void *room) {
    struct piece right = {.loop = loop, .begin = r.mid, .end = r.end, .value = room, .parts = r.parts};
    store_rlx(&right.step, pace->step);
    if (loop->size) memcpy(room, loop->identity, loop->size);
    weft_fork(&right.task, run_piece, &right);
    if (loop->partition == WEFT_FOR_MORSEL) offer();
    run_range(loop, r.begin, r.mid, r.parts, value, pace);
    store_rlx(&right.step, pace->step); /* a worker that begins it from now on knows better */
    weft_task_join(&right.task);
    pace->step = load_rlx(&right.step);
    if (loop->size) loop->combine(value, room, loop->arg);
}

/* A value that is large; without memory for it, the parts are run one after the other, into one. */
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

static void tree(struct weft__loop *loop, size_t begin, size_t end, void *value, struct pace *pace) {
    if (ended(loop)) return;
    if (!is_small(loop, end - begin, pace->step))
        cut_at(loop, (struct range){begin, cut(loop, begin, end), end, false}, value, pace);
    else if (loop->partition == WEFT_FOR_MORSEL)
        call_timed(loop, begin, end, value, pace);
    else if (loop->partition == WEFT_FOR_STATIC)
        call_part(loop, begin, value);
    else
        call(loop, begin, end, value);
}

/* The rest of a lazy range, which can be stolen while a piece before it runs. */
struct rest {
    struct piece piece;
    _Atomic bool back; /* the owner wants it back */
    bool ran;          /* a thief has run it */
};

/* A thief that comes when the owner wants it back may run it or not; `ran`, which the join orders, says which. */
static void run_rest(void *p) {
    struct rest *rest = p;
    if (load_rlx(&rest->back)) return;
    rest->ran = true;
    run_piece(&rest->piece);
}

/* Runs [begin, mid). The body may wait, so [mid, end) is forked before. If no thief has taken it, the join calls
 * run_rest, which returns at once, and the caller goes on with it. True: a thief has run it. */
static bool call_before_rest(struct weft__loop *loop, size_t begin, size_t mid, size_t end, void *value,
                             const struct pace *pace) {
    max_align_t room[loop->size / sizeof(max_align_t) + 1];
    struct rest rest = {.piece = {.loop = loop, .begin = mid, .end = end, .value = room}};
    store_rlx(&rest.piece.step, pace->step);
    if (loop->size) memcpy(room, loop->identity, loop->size);
    weft_fork(&rest.piece.task, run_rest, &rest);
    call_body(loop, begin, mid, value);
    store_rlx(&rest.back, true);
    weft_task_join(&rest.piece.task);
    if (rest.ran && loop->size) loop->combine(value, room, loop->arg);
    weft__let_in(); /* not before the join: the rest would be taken by another fiber each time */
    return rest.ran;
}

static void lazy(struct weft__loop *loop, size_t begin, size_t end, void *value, struct pace *pace) {
    while (begin < end && !ended(loop)) {
        size_t n = end - begin, piece = loop->partition == WEFT_FOR_LAZY ? loop->grain : pace->step;
        if (n > piece && weft__somebody_hungry()) {
            size_t mid = at_line(loop, begin, end, begin + (n + 1) / 2);
            cut_at(loop, (struct range){begin, mid, end, false}, value, pace);
            return;
        }
        size_t to = n > piece ? begin + piece : end;
        if (to < end && loop->forks_rest) {
            if (call_before_rest(loop, begin, to, end, value, pace)) return;
        } else if (loop->partition == WEFT_FOR_LAZY)
            call(loop, begin, to, value);
        else
            call_timed(loop, begin, to, value, pace);
        begin = to;
    }
}

static void run_left(struct weft__loop *loop, size_t begin, size_t mid, void *value, struct pace *pace) {
    (loop->lazily ? lazy : tree)(loop, begin, mid, value, pace);
}

/* Parts [first, end), each of which is cut into pieces. */
static void run_parts(struct weft__loop *loop, size_t first, size_t end, void *value, struct pace *pace) {
    size_t begin = part_begin(loop, first), to = part_begin(loop, end);
    if (end - first > 1)
        cut_at(loop, (struct range){first, first + (end - first + 1) / 2, end, true}, value, pace);
    else if (begin < to)
        run_left(loop, begin, to, value, pace);
}

static void run_piece(void *piece) {
    struct piece *p = piece;
    struct pace pace = {.step = load_rlx(&p->step)};
    run_range(p->loop, p->begin, p->end, p->parts, p->value, &pace);
    store_rlx(&p->step, pace.step);
}

/* --- what earlier loops have taught ------------------------------------------------------------- */

/*
 * What an element of a loop costs, by the loop's function and length: 64 bits of which the upper half is a tag, the
 * lower half the cost. A word is read and written as a whole, and what it says is only a guess: loops of the same
 * function and length may cost anything, and two loops may share a word.
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

/* Only when it has changed by more than an eighth: the word is shared. */
static void learn(const struct weft__loop *loop, uint64_t known, uint64_t cost) {
    uint64_t tag, difference = known > cost ? known - cost : cost - known;
    _Atomic uint64_t *lesson = lesson_of(loop, &tag);
    if (cost && difference > known / 8) store_rlx(lesson, tag | (cost < UINT32_MAX ? cost : UINT32_MAX));
}

/* --- the whole ---------------------------------------------------------------------------------- */

static bool is_worth_a_probe(const struct weft__loop *loop) {
    return (loop->end - loop->begin) / loop->grain > (size_t)WEFT_PROBE_FROM * loop->workers;
}

/* Runs some elements alone; returns where the rest begins. */
static size_t probe(struct weft__loop *loop, void *value, struct pace *pace) {
    size_t at = loop->begin;
    uint64_t spent = 0;
    while (at < loop->end && spent < loop->budget / 4 && !ended(loop)) {
        size_t to = loop->end - at > pace->step ? at + pace->step : loop->end;
        spent += call_timed(loop, at, to, value, pace);
        at = to;
    }
    return at;
}

/* Elements that should take so long, if WEFT_COST of them cost what is said. */
static size_t elements_in(uint64_t nanoseconds, uint64_t cost) {
    return nanoseconds < UINT64_MAX / WEFT_COST ? (size_t)(nanoseconds * WEFT_COST / cost) : SIZE_MAX;
}

/*
 * A loop like an earlier one: how long it will take is known, so it need not be probed. One that is over before another
 * worker could have begun is run alone. Otherwise each worker gets an equal part at once, the caller always the first:
 * loops over the same memory, one after the other, find it where it was. A worker that is done steals from the others.
 */
static void run_known(struct weft__loop *loop, uint64_t cost, void *value, struct pace *pace) {
    size_t n = loop->end - loop->begin, least = elements_in(WEFT_PIECE_LEAST, cost);
    uint64_t shortest = loop->budget / 2;
    if (shortest > WEFT_WORTH_A_STEAL && weft__somebody_searches()) shortest = WEFT_WORTH_A_STEAL;
    bool alone = n <= elements_in(shortest, cost);
    if (loop->most < least) loop->most = least;
    pace->step = elements_in(loop->budget, cost);
    if (pace->step > loop->most) pace->step = loop->most;
    if (pace->step < loop->grain) pace->step = loop->grain;
    if (alone && loop->workers > 1)
        call_timed(loop, loop->begin, loop->end, value, pace);
    else
        run_parts(loop, 0, loop->parts, value, pace);
}

static void run_morsels(struct weft__loop *loop, void *value) {
    struct pace pace = {.step = loop->grain};
    bool learns = is_worth_a_probe(loop);
    uint64_t known = learns && !loop->lazily ? learnt_cost(loop) : 0;
    if (known)
        run_known(loop, known, value, &pace);
    else {
        size_t rest = learns ? probe(loop, value, &pace) : loop->begin;
        if (rest < loop->end) run_left(loop, rest, loop->end, value, &pace);
    }
    if (learns) learn(loop, known, pace.cost);
}

int weft__loop_options(struct weft__loop *loop, const struct weft_for_options *options) {
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

void weft__loop_part(struct weft__loop *loop, size_t part, void *value) {
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
    loop->workers = loop->parts = weft__par_workers();
    bool continued = weft__self()->cluster->tasks.kind == &weft__deque_kept;
    loop->lazily = loop->partition == WEFT_FOR_LAZY || (loop->partition == WEFT_FOR_MORSEL && continued);
    loop->forks_rest = loop->partition == WEFT_FOR_LAZY && !continued && loop->size <= WEFT_VALUE_ON_STACK;
    loop->most = (loop->end - loop->begin) / loop->workers / WEFT_MORSELS;
    bool directed = loop->spread != WEFT_SPREAD_NONE || loop->affinity;
    if (directed && weft__loop_spread(loop, value)) return load_rlx(&loop->result);
    if (loop->partition == WEFT_FOR_STATIC)
        tree(loop, 0, loop->parts, value, &pace);
    else if (loop->partition == WEFT_FOR_MORSEL)
        run_morsels(loop, value);
    else
        run_left(loop, loop->begin, loop->end, value, &pace);
    return load_rlx(&loop->result); /* the joins have ordered it */
}
