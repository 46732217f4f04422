/* SPDX-License-Identifier: MIT */
/*
 * Scopes, shields and clean-up: they decide when fibers end. weft.h includes this header and says how to read it.
 * docs/SYNC.md says what each call leaves behind when it is cancelled.
 */
#ifndef WEFT_SCOPE_H
#define WEFT_SCOPE_H

#include <stddef.h>
#include <stdint.h>

#ifndef WEFT_H
#error "include <weft.h>, which includes this"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * Scopes
 *
 * A scope is a block that owns the fibers spawned in it:
 *
 *     struct weft_scope scope;
 *     weft_scope_begin(&scope, weft_now() + WEFT_SECOND);
 *     int err = weft_scope_spawn(&scope, NULL, fetch, &a);
 *     if (!err) err = weft_scope_spawn(&scope, NULL, fetch, &b);
 *     int failed = weft_scope_end(&scope);
 *
 * The scope ends when all its fibers have ended, never before. It is cancelled by the first child that fails, by its
 * deadline (-ETIMEDOUT), or by weft_scope_cancel (-ECANCELED). The first of these counts, and is the result of the
 * scope.
 *
 * Cancelling a scope cancels everything in it: its children, the fiber that began it (between begin and end), and
 * whatever these have begun in turn, up to shields. Their waits end with -ETIMEDOUT if the deadline was the cause, and
 * with -ECANCELED otherwise. So do later waits until the scope has ended. Cancellation never goes outwards: after the
 * end of an inner scope the state of the outer one applies.
 *
 * A fiber ends its scopes in reverse order. A fiber that ends by weft_fiber_exit first cancels and ends its open
 * scopes. A fiber function that returns with an open scope is an error that ends the program, because the children
 * would use a frame that no longer exists.
 * ------------------------------------------------------------------------------------------ */

/* A scope. Its memory must not move between begin and end. */
struct weft_scope {
    uint64_t opaque[28];
};

/*
 * Begins a scope. If the caller is cancelled already, the new scope is cancelled from the start. A thread may begin a
 * scope without a runtime, and its deadline then still works.
 *
 *   deadline   the scope is cancelled at this time; WEFT_FOREVER for none
 *
 * Errors:
 *   -EINVAL   scope is NULL
 *   -EBUSY    the caller has begun this scope and not ended it
 *   -ENOMEM   no memory for the record of a thread
 * [fiber thread]
 */
int weft_scope_begin(struct weft_scope *scope, uint64_t deadline);

/*
 * Creates a fiber that runs fn(arg) and belongs to the scope. The function returns 0 or a positive number for success,
 * and a negative errno for failure; a failure cancels the scope. A child that ends by weft_fiber_exit(result) counts as
 * having returned (int)(intptr_t)result.
 *
 * Any fiber or thread may spawn into a scope that has not ended. A child that was created always runs, even if the
 * scope is cancelled before its first turn. weft_scope_spawn is a macro: it records the source line of the call for
 * messages.
 *
 * Synopsis: int weft_scope_spawn(struct weft_scope *scope, const struct weft_attr *attr, int (*fn)(void *), void *arg);
 *
 *   attr   attributes; NULL for the defaults
 *
 * Errors:
 *   -ECANCELED   the scope is cancelled; no fiber was created
 *   -EINVAL      scope or fn is NULL, the scope is not open, or attr->background is set
 *   other        those of weft_spawn
 * [fiber thread]
 */
#define weft_scope_spawn(...) weft_scope_spawn_at(__VA_ARGS__, WEFT_HERE)

/*
 * Does what weft_scope_spawn does; the caller says which file and line messages show.
 *
 *   where   a string that is never freed
 *
 * Errors: those of weft_scope_spawn.
 * [fiber thread]
 */
WEFT_MUST_USE static inline int weft_scope_spawn_at(struct weft_scope *scope, const struct weft_attr *attr,
                                                    int (*fn)(void *), void *arg, const char *where);
int weft__scope_spawn(struct weft_scope *scope, const struct weft_attr *attr, int (*fn)(void *), void *arg,
                      const char *where, size_t size);
static inline int weft_scope_spawn_at(struct weft_scope *scope, const struct weft_attr *attr, int (*fn)(void *),
                                      void *arg, const char *where) {
    return weft__scope_spawn(scope, attr, fn, arg, where, sizeof(struct weft_attr));
}

/*
 * Cancel an open scope: weft_scope_fail as a failure with `err`, weft_scope_cancel with -ECANCELED. Any child may call
 * them, and any other caller that knows that the scope has not ended. They return when the first few hundred fibers are
 * cancelled; another fiber cancels the rest.
 *
 *   err   a negative errno
 *
 * Errors:
 *   -EALREADY   the scope is already cancelled
 *   -EINVAL     scope is NULL or not open, or err is not a negative errno
 * [fiber thread]
 */
int weft_scope_fail(struct weft_scope *scope, int err);
int weft_scope_cancel(struct weft_scope *scope);

/*
 * Changes the deadline of an open scope, also while weft_scope_end waits. For a grace period: at shutdown a server
 * gives the fibers of its scope ten more seconds. Any fiber or thread may call this that knows that the scope has not
 * ended.
 *
 *   deadline   WEFT_FOREVER for none
 *
 * Errors:
 *   -EALREADY   the scope is already cancelled; nothing has changed
 *   -EINVAL     scope is NULL or not open
 * [fiber thread]
 */
int weft_scope_set_deadline(struct weft_scope *scope, uint64_t deadline);

/*
 * Waits until all fibers of the scope have ended, and ends the scope. Returns 0, or what the scope was cancelled with.
 * The wait cannot be cancelled. errno is unchanged.
 *
 * Errors:
 *   -EINVAL      scope is NULL or not open, or the caller has begun something in it that is still open
 *   -EPERM       another fiber or thread began the scope
 *   -ETIMEDOUT   the deadline passed
 *   -ECANCELED   the scope was cancelled
 *   other        the error of the first child that failed
 * [fiber thread; parks]
 */
int weft_scope_end(struct weft_scope *scope);

/* ---------------------------------------------------------------------------------------------
 * Shields
 *
 * Between begin and end of a shield, cancellation from outside ends no wait of the calling fiber and does not enter
 * scopes begun there. It applies again after the end. Shields are for clean-up that must wait. Give such clean-up a
 * scope with a deadline of its own.
 * ------------------------------------------------------------------------------------------ */

/* A shield against cancellation. Its memory must not move between begin and end. */
struct weft_shield {
    uint64_t opaque[8];
};

/*
 * Begins a shield.
 *
 * Errors:
 *   -EINVAL   shield is NULL
 *   -EBUSY    the caller has begun this shield and not ended it
 *   -ENOMEM   no memory for the record of a thread
 * [fiber thread]
 */
int weft_shield_begin(struct weft_shield *shield);

/*
 * Ends a shield. Cancellation from outside applies again.
 *
 * Errors:
 *   -EINVAL   shield is NULL or not begun, or something begun in it is still open
 *   -EPERM    another fiber or thread began it
 * [fiber thread]
 */
int weft_shield_end(struct weft_shield *shield);

/* ---------------------------------------------------------------------------------------------
 * Clean-up
 *
 * Clean-up handlers run when a fiber ends by weft_fiber_exit, as those of pthread_cleanup_push do for threads.
 * ------------------------------------------------------------------------------------------ */

/* A clean-up handler. Its memory is the caller's, and stays until the pop. */
struct weft_cleanup {
    uint64_t opaque[4];
};

/*
 * Registers a handler. Until it is popped, weft_fiber_exit calls fn(arg) inside a shield, the last registered handler
 * first and in turn with the ends of open scopes. A fiber function that returns also runs the handlers that are left,
 * unless they lie in its own frames, which no longer exist: that ends the program with one line.
 *
 * Errors:
 *   -EINVAL   cleanup or fn is NULL
 *   -EBUSY    the handler is already registered
 *   -EPERM    the caller is not a fiber
 * [fiber]
 */
int weft_cleanup_push(struct weft_cleanup *cleanup, void (*fn)(void *), void *arg);

/*
 * Removes the handler that was registered last.
 *
 *   run   not 0: also call it, inside a shield
 *
 * Errors:
 *   -EINVAL   cleanup is NULL or not the last one registered
 *   -EPERM    the caller is not a fiber
 * [fiber]
 */
int weft_cleanup_pop(struct weft_cleanup *cleanup, int run);

/*
 * Ends the calling fiber by weft_fiber_exit if it was cancelled, with -ECANCELED or -ETIMEDOUT as its result.
 * Otherwise, inside a shield, and on a thread, does nothing. Not for forked calls and functions called by loops, see
 * weft_fiber_exit.
 *
 * Errors: none.
 * [fiber thread; may not return]
 */
void weft_fiber_exit_if_cancelled(void);

/* ---------------------------------------------------------------------------------------------
 * Recent cancellations
 *
 * For diagnosis: the fibers that were cancelled last, and why.
 * ------------------------------------------------------------------------------------------ */

/* Reasons for a cancellation. */
enum {
    WEFT_BY_REQUEST = 1, /* weft_cancel, weft_scope_cancel */
    WEFT_BY_FAILURE,     /* another fiber of its scope failed */
    WEFT_BY_DEADLINE,    /* the deadline of its scope passed */
};

/* A fiber that was cancelled. */
struct weft_cancellation {
    struct weft_fiber fiber; /* probably stale; zero for a thread */
    const char *where;       /* the source line that spawned it; NULL for a thread */
    char name[16];
    uint64_t at; /* when, by weft_now() */
    int why;     /* WEFT_BY_REQUEST, WEFT_BY_FAILURE or WEFT_BY_DEADLINE */
};

/*
 * Lists the fibers that were cancelled last since the runtime started, the latest first. Returns how many it stored.
 * weft keeps at least 64.
 *
 *   list   receives at most n entries; may be NULL if n is 0
 *
 * Errors: -EINVAL if list is NULL and n is not 0.
 * [fiber thread]
 */
int weft_cancellations(struct weft_cancellation *list, unsigned n);

#ifdef __cplusplus
}
#endif
#endif
