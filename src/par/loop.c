/*
 * How a range is cut and run. A piece is forked as a task; its record stands in the frame that cuts, which
 * joins it before it returns. The partitioners are three shapes:
 *
 *   tree   (morsel, grain, static) a range that is too large is cut in two, the right part is forked, the left
 *          one goes on. So there is always something to steal, the oldest and largest first, also while a
 *          body computes for long; and when nobody steals, a cut costs a fork and a join, some nanoseconds.
 *          What is too large: for grain, more than so many; for static, which cuts whole parts, more than
 *          one; for morsel, more than took `budget` lately, by the clock, on this worker and for this piece.
 *   lazy   `grain` by `grain` from the left; when somebody looks for work, half of the rest is forked. Morsel by
 *          morsel, too, with continuation stealing: there a fork leaves a caller behind, which becomes ready when
 *          the loop lets others in; with one for each cut those would come after as many callers.
 *   probe  a morsel loop over many elements first runs a few of them, alone, until a quarter of a budget has
 *          passed. A loop that is over by then has forked nothing and woken nobody.
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

struct piece {
    struct weft_task task;
    struct weft__loop *loop;
    size_t begin, end; /* static: of parts */
    void *value;
    _Atomic size_t step; /* morsel: elements that took about a budget; as of whoever ran last */
};

static inline bool ended(struct weft__loop *loop) { return weft__par_over(&loop->result); }

/* --- one piece ---------------------------------------------------------------------------------- */

static void call(struct weft__loop *loop, size_t begin, size_t end, void *value) {
    WEFT_BARRIER(barrier, loop->name);
    int result = loop->body ? loop->body(begin, end, loop->arg) : loop->fold(begin, end, value, loop->arg);
    barrier = NULL;
    weft__par_end(&loop->result, result);
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

static uint64_t call_timed(struct weft__loop *loop, size_t begin, size_t end, void *value, size_t *step) {
    uint64_t began = weft__clock();
    call(loop, begin, end, value);
    uint64_t took = weft__clock() - began;
    *step = next_step(loop, *step, end - begin, took);
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

static void run_left(struct weft__loop *loop, size_t begin, size_t mid, void *value, size_t *step);

/*
 * The next fork may be a morsel away, and thieves should not have to ask and wait for it: if nothing of what
 * was forked is public, all of it becomes so. The join then takes a lock, which is little beside a morsel.
 */
static void offer(void) {
    struct weft__deque *d = load_rlx(&weft__self()->deque);
    if (d && d->kind->yield && !d->kind->ready(d)) d->kind->yield(d);
}

/* Forks [mid, end), runs [begin, mid), joins. room: for the value of the right part. */
static void cut_in_two(struct weft__loop *loop, size_t begin, size_t mid, size_t end, void *value, size_t *step,
                       void *room) {
    struct piece right = {.loop = loop, .begin = mid, .end = end, .value = room};
    store_rlx(&right.step, *step);
    if (loop->size) memcpy(room, loop->identity, loop->size);
    weft_fork(&right.task, run_piece, &right);
    if (loop->partition == WEFT_FOR_MORSEL) offer();
    run_left(loop, begin, mid, value, step);
    store_rlx(&right.step, *step); /* whoever begins it from now on knows better */
    weft_task_join(&right.task);
    *step = load_rlx(&right.step);
    if (loop->size) loop->combine(value, room, loop->arg);
}

/* A value that is large; without memory for it, the parts are run one after the other, into one. */
static WEFT_COLD void cut_with_memory(struct weft__loop *loop, size_t begin, size_t mid, size_t end, void *value,
                                      size_t *step) {
    void *room = weft__alloc(loop->size);
    if (room)
        cut_in_two(loop, begin, mid, end, value, step, room);
    else {
        run_left(loop, begin, mid, value, step);
        run_left(loop, mid, end, value, step);
    }
    weft__free(room);
}

static void cut_at(struct weft__loop *loop, size_t begin, size_t mid, size_t end, void *value, size_t *step) {
    if (unlikely(loop->size > WEFT_VALUE_ON_STACK)) {
        cut_with_memory(loop, begin, mid, end, value, step);
        return;
    }
    max_align_t room[loop->size / sizeof(max_align_t) + 1];
    cut_in_two(loop, begin, mid, end, value, step, room);
}

static bool is_small(const struct weft__loop *loop, size_t n, size_t step) {
    if (loop->partition == WEFT_FOR_MORSEL) return n <= step || n - step <= step / 2;
    return n <= (loop->partition == WEFT_FOR_STATIC ? 1 : loop->grain);
}

static void tree(struct weft__loop *loop, size_t begin, size_t end, void *value, size_t *step) {
    if (ended(loop)) return;
    if (!is_small(loop, end - begin, *step))
        cut_at(loop, begin, cut(loop, begin, end), end, value, step);
    else if (loop->partition == WEFT_FOR_MORSEL)
        call_timed(loop, begin, end, value, step);
    else if (loop->partition == WEFT_FOR_STATIC)
        call_part(loop, begin, value);
    else
        call(loop, begin, end, value);
}

static void lazy(struct weft__loop *loop, size_t begin, size_t end, void *value, size_t *step) {
    while (begin < end && !ended(loop)) {
        size_t n = end - begin, piece = loop->partition == WEFT_FOR_LAZY ? loop->grain : *step;
        if (n > piece && weft__somebody_hungry()) {
            size_t mid = at_line(loop, begin, end, begin + (n + 1) / 2);
            cut_at(loop, begin, mid, end, value, step);
            return;
        }
        size_t to = n > piece ? begin + piece : end;
        if (loop->partition == WEFT_FOR_LAZY)
            call(loop, begin, to, value);
        else
            call_timed(loop, begin, to, value, step);
        begin = to;
    }
}

static void run_left(struct weft__loop *loop, size_t begin, size_t mid, void *value, size_t *step) {
    (loop->lazily ? lazy : tree)(loop, begin, mid, value, step);
}

static void run_piece(void *piece) {
    struct piece *p = piece;
    size_t step = load_rlx(&p->step);
    run_left(p->loop, p->begin, p->end, p->value, &step);
    store_rlx(&p->step, step);
}

/* --- the whole ---------------------------------------------------------------------------------- */

/* Where the rest begins. */
static size_t probe(struct weft__loop *loop, void *value, size_t *step) {
    size_t at = loop->begin;
    uint64_t spent = 0;
    if ((loop->end - at) / loop->grain <= (size_t)WEFT_PROBE_FROM * loop->workers) return at;
    while (at < loop->end && spent < loop->budget / 4 && !ended(loop)) {
        size_t to = loop->end - at > *step ? at + *step : loop->end;
        spent += call_timed(loop, at, to, value, step);
        at = to;
    }
    return at;
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
    loop->budget = options->budget ? options->budget : WEFT_FOR_BUDGET;
    return 0;
}

void weft__loop_part(struct weft__loop *loop, size_t part, void *value) {
    size_t begin = part_begin(loop, part), end = part_begin(loop, part + 1), step = loop->grain;
    if (loop->partition == WEFT_FOR_STATIC)
        call_part(loop, part, value);
    else if (begin < end)
        run_left(loop, begin, end, value, &step);
}

int weft__loop_run(struct weft__loop *loop, void *value) {
    size_t step = loop->grain;
    if (loop->begin == loop->end) return 0;
    loop->workers = loop->parts = weft__par_workers();
    bool continued = weft__self()->cluster->tasks.kind == &weft__deque_kept;
    loop->lazily = loop->partition == WEFT_FOR_LAZY || (loop->partition == WEFT_FOR_MORSEL && continued);
    loop->most = (loop->end - loop->begin) / loop->workers / WEFT_MORSELS;
    bool directed = loop->spread != WEFT_SPREAD_NONE || loop->affinity;
    if (directed && weft__loop_spread(loop, value)) return load_rlx(&loop->result);
    if (loop->partition == WEFT_FOR_STATIC)
        tree(loop, 0, loop->parts, value, &step);
    else if (loop->partition == WEFT_FOR_MORSEL) {
        size_t rest = probe(loop, value, &step);
        if (rest < loop->end) run_left(loop, rest, loop->end, value, &step);
    } else
        run_left(loop, loop->begin, loop->end, value, &step);
    return load_rlx(&loop->result); /* the joins have ordered it */
}
