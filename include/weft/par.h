/*
 * weft: loops and algorithms over many workers. Included by weft.h; how to read it is said there.
 *
 * All of these cut the work into pieces, fork the pieces as tasks (weft/task.h), and return when every
 * piece has ended. What they call - a body, a comparison, a stage - may do whatever a fiber may: take
 * locks, sleep, park, run loops of its own. It may be called on several workers at once; it must not end its
 * fiber by weft_exit, nor let a C++ exception out: the program then ends with one line. While bodies park, others
 * begin: hundreds may be under way at the same time. What must be bounded, open files for instance, is bounded by a
 * semaphore, by WEFT_FOR_STATIC (one piece a worker), or by the items of a pipeline.
 *
 * Called by a thread that is no fiber, each of them runs in a fiber of the first cluster, and the thread
 * waits for it; without a runtime: -ESRCH.
 *
 * A caller that is told to stop, by weft_cancel or by a scope that it is in, stops all of it: no other piece, item or
 * node is begun, and waits in those that are under way end, as the caller's own waits would, whichever fiber runs them.
 * When these have returned, the call returns -ECANCELED, or -ETIMEDOUT for the deadline of a scope; or 0, if nothing
 * was left to be begun. In a shield nothing of that happens. A body that should end its loop returns a value, see
 * weft_for.
 *
 * The order: loops, reductions, prefix sums, calls, sorting, pipelines, graphs, values for each worker.
 */
#ifndef WEFT_PAR_H
#define WEFT_PAR_H

#include <stddef.h>
#include <stdint.h>

#ifndef WEFT_H
#error "include <weft.h>, which includes this"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * Loops
 * ------------------------------------------------------------------------------------------ */

/* How a range is cut into pieces. */
enum {
    WEFT_FOR_MORSEL, /* pieces that take about `budget` each, as measured while the loop runs */
    WEFT_FOR_LAZY,   /* `grain` at a time; what is left is halved whenever a worker looks for work, and can be taken
                        while a body waits */
    WEFT_FOR_STATIC, /* as many equal parts as there are workers; in each `grain` at a time, 0: all at once */
    WEFT_FOR_GRAIN,  /* halved until a piece has at most `grain`: always the same pieces, unless parts are sent to
                        workers */
};

/* Who begins which part. Without it, the workers come and take what they find. */
enum {
    WEFT_SPREAD_NONE,
    WEFT_SPREAD_EVEN,   /* a part is mailed to each worker: halves to two, who mail quarters, and so on */
    WEFT_SPREAD_UNEVEN, /* the caller mails all parts itself: earlier for a few workers, later for many */
};

/*
 * Which worker ran which part of a loop; the next loop that is given the same object sends each part
 * there again, where its data may still be in the cache. Any number of loops, one at a time, over any
 * range: the parts are 256ths of it or larger. Zeros: nothing is known.
 */
struct weft_affinity {
    uint16_t parts;
    uint16_t worker[256]; /* + 1 */
};
#define WEFT_AFFINITY_INIT WEFT_ZERO

/* Start from WEFT_FOR_INIT; a zero is a default; NULL: all defaults. */
struct weft_for_options {
    unsigned partition;             /* WEFT_FOR_MORSEL ... */
    unsigned spread;                /* WEFT_SPREAD_NONE ... */
    size_t grain;                   /* elements that a piece has at least, or for WEFT_FOR_GRAIN at most; 0: 1 */
    size_t element;                 /* bytes of an element: if element 0 begins a cache line, so does each piece. 0: not
                                       known; large pieces begin at multiples of 64 then */
    uint64_t budget;                /* ns; 0: 40 us */
    struct weft_affinity *affinity; /* NULL: none */
};
#define WEFT_FOR_INIT WEFT_ZERO

/*
 * Calls body(b, e, arg) for pieces [b, e) of [begin, end), each index in exactly one, on as many workers as
 * are free, in any order; returns when all have returned. A body that returns something else than 0 ends the
 * loop: no other piece is begun, those under way go on to their end, and the first such value is what weft_for
 * returns. Between two pieces, a fiber that has been ready for long is let in.
 * -ECANCELED, -ETIMEDOUT: the caller was told to stop. -EINVAL: body NULL, end < begin, an option out of range. -ESRCH:
 * a thread, and no runtime. -ENOMEM, -EAGAIN: a thread, and no fiber could be made.  [fiber thread; parks, cancel]
 */
int weft_for(size_t begin, size_t end, int (*body)(size_t begin, size_t end, void *arg), void *arg,
             const struct weft_for_options *options);

/* ---------------------------------------------------------------------------------------------
 * Reductions
 * ------------------------------------------------------------------------------------------ */

/* An operation that is associative; it need not be commutative. */
struct weft_reduction {
    size_t size;          /* bytes of a value; values are aligned as by malloc, and moved by copying */
    const void *identity; /* the value of no elements */
    /* value = value op the elements of [begin, end). Not 0: ends the reduction, as in weft_for. */
    int (*fold)(size_t begin, size_t end, void *value, void *arg);
    /* left = left op right. */
    void (*combine)(void *left, const void *right, void *arg);
};

/*
 * *value = *value op all elements of the range, in their order. Rounding may differ from run to run, because
 * the brackets are where the pieces end. They are always the same with WEFT_FOR_GRAIN; and on the same number of
 * workers with WEFT_FOR_STATIC, and with WEFT_FOR_GRAIN and a spread or an affinity. Errors as for weft_for, and then
 * *value is of no use. -EINVAL also: value, how, or a member of it NULL or 0.  [fiber thread; parks, cancel]
 */
int weft_reduce(size_t begin, size_t end, void *value, const struct weft_reduction *how, void *arg,
                const struct weft_for_options *options);

/* ---------------------------------------------------------------------------------------------
 * Prefix sums
 * ------------------------------------------------------------------------------------------ */

/*
 * The running value of an associative operation. `scan` does what fold does and also writes the results that
 * it passes, before or after it has counted each element in: that makes the scan exclusive or inclusive.
 */
struct weft_prefix {
    struct weft_reduction reduction;
    /* value: that of all elements before begin; on return: of all before end. */
    int (*scan)(size_t begin, size_t end, void *value, void *arg);
};

/*
 * Calls scan for pieces that cover [begin, end), each once, with the right value; some pieces are first
 * folded by somebody else. *value is what the first begins with, and on return that of the whole range.
 * On W workers it takes at best 2/(W+1) of the time of a plain loop. grain and element of the options count.
 * Errors as for weft_reduce.  [fiber thread; parks, cancel]
 */
int weft_scan(size_t begin, size_t end, void *value, const struct weft_prefix *how, void *arg,
              const struct weft_for_options *options);

/*
 * The same over an array of n elements of size bytes, with only an operation: left = left op right. It is a call an
 * element; <weft/scan.h> makes functions with the operation in line, several times as fast for numbers.
 * Inclusive: out[i] = in[0] op ... op in[i]. Exclusive: without in[i], so out[0] is the identity. out may be
 * in. -EINVAL: a pointer NULL, size 0 or more than 4096. -ENOMEM. Others as for weft_for: then only a part of out was
 * written.  [fiber thread; parks, cancel]
 */
int weft_scan_inclusive(void *out, const void *in, size_t n, size_t size, const void *identity,
                        void (*combine)(void *left, const void *right, void *arg), void *arg);
int weft_scan_exclusive(void *out, const void *in, size_t n, size_t size, const void *identity,
                        void (*combine)(void *left, const void *right, void *arg), void *arg);

/* ---------------------------------------------------------------------------------------------
 * Calls side by side
 * ------------------------------------------------------------------------------------------ */

struct weft_branch {
    void (*fn)(void *);
    void *arg;
};

/* Calls n functions, perhaps at once, and returns when all have returned. -EINVAL: branches NULL and n not 0, or
 * an fn is NULL: then none is called. -ECANCELED, -ETIMEDOUT: some were not called. -ESRCH, -ENOMEM, -EAGAIN as for
 * weft_for.  [fiber thread; parks, cancel] */
int weft_invoke(const struct weft_branch *branches, size_t n);

/* ---------------------------------------------------------------------------------------------
 * Sorting. For elements of a type that is known, <weft/sort.h> makes a function with the comparison in
 * line, several times as fast for numbers.
 * ------------------------------------------------------------------------------------------ */

/*
 * Sorts n elements of size bytes, as qsort_r would, but elements that compare as equal stay in order. Whatever the
 * comparison answers, all elements are still there. It needs room for as many elements again, and for those that are
 * not of 4, 8 or 16 bytes a pointer each; with a byte more for each, arrays of few different values are sorted faster.
 * -EINVAL: base NULL and n not 0, compare NULL, size 0, n times size too large. -ENOMEM: nothing has
 * changed. -ECANCELED, -ETIMEDOUT: all elements are there, in some order. -ESRCH, -EAGAIN as for weft_for.
 * [fiber thread; parks, cancel]
 */
int weft_sort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *arg), void *arg);

/* For <weft/sort.h>, before a piece: a fiber that has been ready for long is let in. Not 0: the sort is to stop, and
 * *result says why. */
int weft__sort_turn(int *result);

/* ---------------------------------------------------------------------------------------------
 * Pipelines
 * ------------------------------------------------------------------------------------------ */

enum {
    WEFT_STAGE_PARALLEL, /* several items at once, in any order */
    WEFT_STAGE_IN_ORDER, /* one item at a time, in the order in which the first stage made them */
    WEFT_STAGE_SERIAL,   /* one item at a time, in any order */
};

/* What a stage returns when the item goes no further, and the first stage when there are no more. */
#define WEFT_PIPELINE_END 1

struct weft_stage {
    unsigned kind;
    /* The first stage makes an item; the others find it, and may put another in its place. 0: it goes on
     * to the next stage. Less: the error ends the pipeline. More: the item goes no further; or of the first
     * stage, there are no more items. */
    int (*fn)(void **item, void *arg);
    void *arg;
};

/*
 * Items go through n stages, each after the other; the first is called by one at a time, whatever its kind.
 * At most `tokens` items are under way, each in a fiber of its own if need be, so a stage may wait for as
 * long as it likes. 0 tokens: four a worker. After an error nothing new is begun, the items under way go
 * on to the end but for the one that failed, and the first error is returned.
 * -ECANCELED, -ETIMEDOUT: the same, but nothing has failed, and the first stage may have had more items. -EINVAL:
 * stages NULL, n 0, an fn NULL, a kind that is none. -ENOMEM. -ESRCH, -EAGAIN as for weft_for.  [fiber thread; parks,
 * cancel]
 */
int weft_pipeline(const struct weft_stage *stages, size_t n, size_t tokens);

/* ---------------------------------------------------------------------------------------------
 * Graphs: functions, and which of them come before which
 * ------------------------------------------------------------------------------------------ */

/* Zeros are an empty graph. Built by one at a time, run as often as one likes. */
struct weft_graph {
    void *opaque;
};
#define WEFT_GRAPH_INIT WEFT_ZERO

/* Adds a node that calls fn(arg); returns its number: 0, 1, ... -EINVAL: NULL. -EBUSY: the graph runs.
 * -ENOMEM.  [fiber thread] */
int weft_graph_node(struct weft_graph *graph, int (*fn)(void *), void *arg);

/* after begins when before has ended. An edge that is there already counts twice, which changes nothing.
 * -EINVAL: NULL, no such node, or both are the same. -EBUSY. -ENOMEM.  [fiber thread] */
int weft_graph_edge(struct weft_graph *graph, int before, int after);

/*
 * Calls every node's function once, after those of all nodes before it. One that does not return 0 ends
 * the run: no other is begun, and the first such value is returned. The graph may be run again, or
 * added to. -ELOOP: nodes that are before themselves; nothing was called. -EINVAL: NULL. -EBUSY: it runs.
 * -ECANCELED, -ETIMEDOUT, -ESRCH, -ENOMEM, -EAGAIN as for weft_for.  [fiber thread; parks, cancel]
 */
int weft_graph_run(struct weft_graph *graph);

/* Gives the memory back; the graph is empty then. -EINVAL: NULL. -EBUSY: it runs.  [fiber thread] */
int weft_graph_clear(struct weft_graph *graph);

/* ---------------------------------------------------------------------------------------------
 * Values for each worker, combined in the end: sums, histograms, scratch memory
 * ------------------------------------------------------------------------------------------ */

/* Zeros and a size are a valid one. */
struct weft_combinable {
    size_t size;          /* bytes of a value */
    const void *identity; /* what each begins as; NULL: zeros */
    void *opaque;
};
#define WEFT_COMBINABLE_INIT(size, identity) \
    { size, identity, NULL }

/* A value that is the caller's until it is put back, even when it parks and goes on elsewhere; mostly
 * the one that this worker used last. NULL: no memory, or combinable NULL or its size 0.  [fiber thread] */
void *weft_combinable_take(struct weft_combinable *combinable);

/* Puts it back. -EINVAL: NULL.  [fiber thread] */
int weft_combinable_put(struct weft_combinable *combinable, void *value);

/*
 * combine(result, value, arg) for every value there is, in any order. Nobody has one taken.
 * -EINVAL: NULL. -EBUSY: somebody has.  [fiber thread] */
int weft_combinable_each(struct weft_combinable *combinable, void *result,
                         void (*combine)(void *left, const void *right, void *arg), void *arg);

/* Gives the memory back; no value exists any more. -EINVAL: NULL. -EBUSY: somebody has one.  [fiber thread] */
int weft_combinable_clear(struct weft_combinable *combinable);

#ifdef __cplusplus
}
#endif
#endif
