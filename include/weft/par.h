/* SPDX-License-Identifier: MIT */
/*
 * Parallel loops and algorithms. weft.h includes this header and says how to read it.
 *
 * Each function cuts its work into pieces, forks the pieces as tasks (weft/task.h), and returns when every piece has
 * ended. Functions passed in (bodies, comparisons, stages) may do whatever a fiber may: lock, sleep, park, run loops of
 * their own. They may be called on several workers at once. They must not call weft_fiber_exit or let a C++ exception
 * out: the program then prints one line and aborts. While bodies park, further bodies start, so hundreds may be in
 * progress. Use a semaphore, WEFT_FOR_STATIC or the tokens of a pipeline to limit that.
 *
 * A thread that calls one of these functions has it run in a fiber of the first cluster, and waits.
 *
 * When the caller is cancelled, no further piece, item or node starts, and waits in pieces that are running end as the
 * caller's own waits would. After these have returned, the call returns -ECANCELED or -ETIMEDOUT; or 0 if everything
 * had started already. A shield prevents that. A body that wants to end its loop returns a value, see weft_for.
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
 *
 * A loop calls a body for pieces of an index range.
 * ------------------------------------------------------------------------------------------ */

/* How a loop cuts its range into pieces. */
enum {
    WEFT_FOR_MORSEL, /* pieces of about `budget` nanoseconds, as measured while the loop runs; the default */
    WEFT_FOR_LAZY,   /* `grain` indices at a time; the rest is halved whenever a worker looks for work, also while a
                        body waits */
    WEFT_FOR_STATIC, /* one equal part for each worker, in steps of `grain`; 0: in one step */
    WEFT_FOR_GRAIN,  /* halved until a piece has at most `grain` indices: always the same pieces, unless parts are sent
                        to workers */
};

/* Which worker starts with which part. */
enum {
    WEFT_SPREAD_NONE,   /* workers come and take what they find; the default */
    WEFT_SPREAD_EVEN,   /* a part is mailed to each worker: halves to two, which mail quarters, and so on */
    WEFT_SPREAD_UNEVEN, /* the caller mails all parts itself: earlier for a few workers, later for many */
};

/*
 * Remembers which worker ran which part of a loop. The next loop with the same object sends each part to the same
 * worker, whose cache may still hold the data. One loop at a time may use it, over any range; the parts are 256ths or
 * larger.
 */
struct weft_affinity {
    uint16_t parts;
    uint16_t worker[256]; /* + 1 */
};

/* Initialises a struct weft_affinity that knows nothing yet. */
#define WEFT_AFFINITY_INIT WEFT_ZERO

/* Options of a loop. Initialise them with WEFT_FOR_INIT; a member that is 0 has its default. */
struct weft_for_options {
    unsigned partition;             /* WEFT_FOR_MORSEL and so on */
    unsigned spread;                /* WEFT_SPREAD_NONE and so on */
    size_t grain;                   /* least number of indices of a piece; for WEFT_FOR_GRAIN the largest; 0: 1 */
    size_t element;                 /* bytes of an element: pieces then begin at cache lines if element 0 does. 0:
                                       unknown; large pieces begin at multiples of 64 */
    uint64_t budget;                /* ns; 0: 40 us */
    struct weft_affinity *affinity; /* NULL: none */
};

/* Initialises a struct weft_for_options with defaults. */
#define WEFT_FOR_INIT WEFT_ZERO

/*
 * Calls body(b, e, arg) for pieces [b, e) of [begin, end), on as many workers as are free, in any order. Each index
 * belongs to exactly one piece. Returns 0 when all pieces have returned.
 *
 *     static int square(size_t begin, size_t end, void *numbers) {
 *         for (size_t i = begin; i < end; i++) ((double *)numbers)[i] *= ((double *)numbers)[i];
 *         return 0;
 *     }
 *     int err = weft_for(0, n, square, numbers, NULL);
 *
 * A body that returns a value other than 0 ends the loop: no further piece starts, running pieces finish, and weft_for
 * returns the first such value. Between two pieces weft lets in fibers that have been ready for long.
 *
 *   options   NULL for the defaults
 *
 * Errors:
 *   -EINVAL            body is NULL, end < begin, or an option is out of range
 *   -ESRCH             the caller is a thread, and no runtime is running
 *   -ENOMEM, -EAGAIN   the caller is a thread, and no fiber could be created
 *   other              what a body returned
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_for(size_t begin, size_t end, int (*body)(size_t begin, size_t end, void *arg), void *arg,
                           const struct weft_for_options *options);

/* ---------------------------------------------------------------------------------------------
 * Reductions
 *
 * A reduction combines all elements of a range by an associative operation.
 * ------------------------------------------------------------------------------------------ */

/* An associative operation. It need not be commutative. */
struct weft_reduction {
    size_t size;          /* bytes of a value; values are aligned as by malloc, and copied byte by byte */
    const void *identity; /* the value of an empty range */
    /* Sets *value to *value op the elements of [begin, end). A result other than 0 ends the reduction, as in weft_for.
     */
    int (*fold)(size_t begin, size_t end, void *value, void *arg);
    /* Sets *left to *left op *right. */
    void (*combine)(void *left, const void *right, void *arg);
};

/*
 * Sets *value to *value op all elements of the range, in their order. After an error *value is unusable.
 *
 * The operation is associative, but pieces decide where the brackets go, so rounding of floating-point numbers may
 * differ from run to run. It is always the same with WEFT_FOR_GRAIN. With WEFT_FOR_STATIC, or WEFT_FOR_GRAIN and a
 * spread or affinity, it is the same for the same number of workers.
 *
 * Errors:
 *   -EINVAL   value, how or one of its members is NULL or 0
 *   other     those of weft_for
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_reduce(size_t begin, size_t end, void *value, const struct weft_reduction *how, void *arg,
                              const struct weft_for_options *options);

/* ---------------------------------------------------------------------------------------------
 * Prefix sums
 *
 * A scan computes the running value of an associative operation over a range.
 * ------------------------------------------------------------------------------------------ */

/*
 * An operation for weft_scan. `scan` does what `fold` does and also writes a result for each element: the value before
 * it includes the element (an exclusive scan), or after (an inclusive scan).
 */
struct weft_prefix {
    struct weft_reduction reduction;
    /* On entry *value is the result of all elements before begin; on return, of all before end. */
    int (*scan)(size_t begin, size_t end, void *value, void *arg);
};

/*
 * Calls scan for pieces that cover [begin, end), each once, with the right value to start from. Some pieces are folded
 * first, by another worker. *value is the value before the first element, and on return that of the whole range. On W
 * workers this takes at best 2/(W+1) of the time of a sequential loop.
 *
 *   options   grain and element have an effect; NULL for the defaults
 *
 * Errors: those of weft_reduce.
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_scan(size_t begin, size_t end, void *value, const struct weft_prefix *how, void *arg,
                            const struct weft_for_options *options);

/*
 * Scan an array of n elements of `size` bytes with one operation, which sets *left to *left op *right. Inclusive:
 * out[i] = in[0] op ... op in[i]. Exclusive: without in[i], so out[0] is the identity. out may be in. The operation
 * costs a call for each element; <weft/scan.h> inlines it and is several times as fast for numbers. After an error only
 * a part of out was written.
 *
 * Errors:
 *   -EINVAL   a pointer is NULL, or size is 0 or above 4096
 *   -ENOMEM   out of memory
 *   other     those of weft_for
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_scan_inclusive(void *out, const void *in, size_t n, size_t size, const void *identity,
                                      void (*combine)(void *left, const void *right, void *arg), void *arg);
WEFT_MUST_USE int weft_scan_exclusive(void *out, const void *in, size_t n, size_t size, const void *identity,
                                      void (*combine)(void *left, const void *right, void *arg), void *arg);

/* ---------------------------------------------------------------------------------------------
 * Parallel calls
 *
 * Calls a few different functions in parallel.
 * ------------------------------------------------------------------------------------------ */

/* A function for weft_invoke, and its argument. */
struct weft_branch {
    void (*fn)(void *);
    void *arg;
};

/*
 * Calls n functions, in parallel if workers are free, and returns when all have returned. After -ECANCELED or
 * -ETIMEDOUT some were not called.
 *
 * Errors:
 *   -EINVAL                    branches is NULL and n is not 0, or a function is NULL: none was called
 *   -ESRCH, -ENOMEM, -EAGAIN   as weft_for
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_invoke(const struct weft_branch *branches, size_t n);

/* ---------------------------------------------------------------------------------------------
 * Sorting
 *
 * For elements of a known type, <weft/sort.h> generates a sort with the comparison inlined, several times as fast for
 * numbers.
 * ------------------------------------------------------------------------------------------ */

/*
 * Sorts n elements of `size` bytes, with the arguments of qsort_r. The sort is stable: equal elements keep their order.
 * Every element survives, even if the comparison contradicts itself. The sort needs memory for a second array; for
 * elements that do not have 4, 8 or 16 bytes, also a pointer for each. After -ECANCELED or -ETIMEDOUT all elements are
 * there, in some order.
 *
 * Errors:
 *   -EINVAL           base is NULL and n is not 0, compare is NULL, size is 0, or the array is too large
 *   -ENOMEM           out of memory; the array is unchanged
 *   -ESRCH, -EAGAIN   as weft_for
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_sort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *arg),
                            void *arg);

/*
 * Internal, for <weft/sort.h>: called before each piece, lets in a fiber that has been ready for long. Returns not 0 if
 * the sort must stop, with the reason in *result.
 */
int weft__sort_turn(int *result);

/* ---------------------------------------------------------------------------------------------
 * Pipelines
 *
 * A pipeline sends a stream of items through several stages that work at the same time.
 * ------------------------------------------------------------------------------------------ */

/* Kinds of stages. */
enum {
    WEFT_STAGE_PARALLEL, /* several items at a time, in any order */
    WEFT_STAGE_IN_ORDER, /* one item at a time, in the order in which the first stage produced them */
    WEFT_STAGE_SERIAL,   /* one item at a time, in any order */
};

/* The result of a stage when its item goes no further, and of the first stage when there are no more items. */
#define WEFT_PIPELINE_END 1

/* A stage of a pipeline. */
struct weft_stage {
    unsigned kind; /* WEFT_STAGE_PARALLEL and so on */
    /* The first stage stores a new item in *item; the others find the item there and may replace it. 0 passes the item
     * on. WEFT_PIPELINE_END drops it; from the first stage it ends the stream. A negative errno ends the pipeline. */
    int (*fn)(void **item, void *arg);
    void *arg;
};

/*
 * Sends items through n stages. The first stage is called for one item at a time, whatever its kind. Each item is
 * handled by a fiber, so a stage may wait as long as it likes. After an error no new item starts, the items in flight
 * continue to the last stage except the failed one, and the first error is returned. After -ECANCELED or -ETIMEDOUT the
 * first stage may have had more items.
 *
 *   tokens   the largest number of items in flight; 0: four for each worker
 *
 * Errors:
 *   -EINVAL           stages is NULL, n is 0, a function is NULL, or a kind is unknown
 *   -ENOMEM           out of memory
 *   -ESRCH, -EAGAIN   as weft_for
 *   other             the error of a stage
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_pipeline(const struct weft_stage *stages, size_t n, size_t tokens);

/* ---------------------------------------------------------------------------------------------
 * Graphs
 *
 * A graph holds functions and the order between them. A run calls each function after its predecessors, as parallel as
 * the order allows.
 * ------------------------------------------------------------------------------------------ */

/* A graph. Zeros are an empty graph. One caller at a time builds or runs it; it may run any number of times. */
struct weft_graph {
    void *opaque;
};

/* Initialises an empty struct weft_graph. */
#define WEFT_GRAPH_INIT WEFT_ZERO

/*
 * Adds a node that calls fn(arg). Returns its number: 0, 1, and so on.
 *
 * Errors:
 *   -EINVAL   graph or fn is NULL
 *   -EBUSY    the graph is running
 *   -ENOMEM   out of memory
 * [fiber thread]
 */
WEFT_MUST_USE int weft_graph_node(struct weft_graph *graph, int (*fn)(void *), void *arg);

/*
 * Makes node `after` start only when node `before` has ended. Adding an edge twice has no further effect.
 *
 * Errors:
 *   -EINVAL   graph is NULL, a node does not exist, or both are the same
 *   -EBUSY    the graph is running
 *   -ENOMEM   out of memory
 * [fiber thread]
 */
WEFT_MUST_USE int weft_graph_edge(struct weft_graph *graph, int before, int after);

/*
 * Calls the function of every node once, after those of all its predecessors. A function that returns a value other
 * than 0 ends the run: no further node starts, and the first such value is returned. The graph can run again, or grow.
 *
 * Errors:
 *   -ELOOP                     the edges form a circle; nothing was called
 *   -EINVAL                    graph is NULL
 *   -EBUSY                     the graph is running
 *   -ESRCH, -ENOMEM, -EAGAIN   as weft_for
 *   other                      what a node returned
 * [fiber thread; parks, cancel]
 */
WEFT_MUST_USE int weft_graph_run(struct weft_graph *graph);

/*
 * Empties a graph and frees its memory.
 *
 * Errors:
 *   -EINVAL   graph is NULL
 *   -EBUSY    the graph is running
 * [fiber thread]
 */
int weft_graph_clear(struct weft_graph *graph);

/* ---------------------------------------------------------------------------------------------
 * Combinable values
 *
 * A combinable object gives each worker a value of its own, to be combined in the end: sums, histograms, scratch
 * memory.
 * ------------------------------------------------------------------------------------------ */

/* A set of values. Zeros and a size are valid. */
struct weft_combinable {
    size_t size;          /* bytes of a value */
    const void *identity; /* the initial value; NULL: zeros */
    void *opaque;
};

/* Initialises a struct weft_combinable. */
#define WEFT_COMBINABLE_INIT(size, identity) \
    { size, identity, NULL }

/*
 * Takes a value. It is the caller's until it is put back, even if the caller parks and moves. It is usually the value
 * that this worker used last.
 *
 * Errors: returns NULL if memory is exhausted, combinable is NULL, or its size is 0.
 * [fiber thread]
 */
void *weft_combinable_take(struct weft_combinable *combinable);

/*
 * Puts a value back.
 *
 * Errors: -EINVAL if combinable or value is NULL.
 * [fiber thread]
 */
int weft_combinable_put(struct weft_combinable *combinable, void *value);

/*
 * Calls combine(result, value, arg) for every value, in any order. All values must have been put back.
 *
 * Errors:
 *   -EINVAL   combinable or combine is NULL
 *   -EBUSY    a value is taken
 * [fiber thread]
 */
WEFT_MUST_USE int weft_combinable_each(struct weft_combinable *combinable, void *result,
                                       void (*combine)(void *left, const void *right, void *arg), void *arg);

/*
 * Frees all values.
 *
 * Errors:
 *   -EINVAL   combinable is NULL
 *   -EBUSY    a value is taken
 * [fiber thread]
 */
int weft_combinable_clear(struct weft_combinable *combinable);

#ifdef __cplusplus
}
#endif
#endif
