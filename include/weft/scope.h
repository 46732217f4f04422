/*
 * Scopes, shields, clean-up: who ends when. Part of weft.h, which includes it and says how to read it.
 * What each call leaves behind when it is cancelled: docs/SYNC.md.
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
 * Scopes: a block that owns the fibers spawned in it
 *
 *     struct weft_scope scope;
 *     weft_scope_begin(&scope, weft_now() + WEFT_SECOND);
 *     weft_scope_spawn(&scope, NULL, fetch, &a);
 *     weft_scope_spawn(&scope, NULL, fetch, &b);
 *     int err = weft_scope_end(&scope);
 *
 * It ends when they all have ended, not before. The first of them that fails cancels the rest, and
 * what it failed with is the result of the scope. So do the deadline (-ETIMEDOUT) and
 * weft_scope_cancel (-ECANCELED): the first of these three wins, the others are of no effect.
 *
 * A scope that is cancelled, for whatever reason, has every fiber in it told: its waits end, with
 * -ETIMEDOUT if it was the deadline and -ECANCELED if not, and so do later ones until the scope has
 * ended. In it are its children, the fiber that began it, between begin and end, and what any of them
 * has begun in its turn: cancellation goes inwards, through all scopes and their children, up to
 * shields. It never goes outwards: where an inner scope has ended, the outer one's state is in force.
 *
 * Scopes of a fiber end in the reverse order of their beginning. A fiber that ends by weft_exit has its
 * open scopes cancelled and ended first; one that returns with a scope open is a mistake that ends the
 * program, because its children would go on using a frame that is gone.
 * ------------------------------------------------------------------------------------------ */

struct weft_scope {
    uint64_t opaque[28];
};

/*
 * Begins a scope, in memory of the caller's that stays where it is until the end. With a deadline
 * other than WEFT_FOREVER the scope is cancelled then. In a scope that is cancelled already, or by a
 * fiber that is, the new one is cancelled from the start.
 * A thread that is no fiber needs no runtime for that, and its deadline comes also when the runtime was stopped
 * meanwhile.
 * -EINVAL: scope NULL. -EBUSY: the caller has begun it, and not ended it. -ENOMEM: no memory for the record of a
 * thread.  [fiber thread]
 */
int weft_scope_begin(struct weft_scope *scope, uint64_t deadline);

/*
 * Makes a fiber that runs fn(arg) and belongs to the scope. fn returns 0, or a negative errno: then it
 * has failed; any other number is success. One that ends by weft_exit is taken to have returned
 * (int)(intptr_t)result. May be called by anybody while the scope has not ended: the fiber that began
 * it, children, theirs, threads. A child that was made runs, even if the scope is cancelled before it begins.
 * -ECANCELED: the scope is cancelled, and nothing was made. -EINVAL: scope or fn NULL, the scope is not
 * open, attr->counter given. Others as weft_spawn.  [fiber thread]
 */
#define weft_scope_spawn(...) weft_scope_spawn_at(__VA_ARGS__, WEFT_HERE) /* (scope, attr, fn, arg) */
int weft_scope_spawn_at(struct weft_scope *scope, const struct weft_attr *attr, int (*fn)(void *), void *arg,
                        const char *where);

/*
 * Cancels the scope, as a failure with err (a negative errno) does or with -ECANCELED. It must not have
 * ended; a child may call this, and whoever else knows that. Returns when the first few hundred have
 * been told; the rest follows. -EALREADY: it is cancelled already. -EINVAL: NULL, not open, or err is no
 * negative errno.  [fiber thread]
 */
int weft_scope_fail(struct weft_scope *scope, int err);
int weft_scope_cancel(struct weft_scope *scope);

/*
 * Waits until all its fibers have ended, whatever happens, and ends the scope. 0, or what it was
 * cancelled with. -EINVAL: NULL, not open, or something begun in it by the caller is still open. -EPERM:
 * another fiber or thread began it.  [fiber thread; parks]
 */
int weft_scope_end(struct weft_scope *scope);

/* ---------------------------------------------------------------------------------------------
 * Shields: between begin and end, cancellation from outside ends no wait of the calling fiber, and does
 * not go into scopes that are begun there; it is in force again after the end. For clean-up that must
 * wait; give it a scope with a deadline of its own.
 * ------------------------------------------------------------------------------------------ */

struct weft_shield {
    uint64_t opaque[8];
};

/* -EINVAL: NULL. -EBUSY, -ENOMEM: as weft_scope_begin.  [fiber thread] */
int weft_shield_begin(struct weft_shield *shield);

/* -EINVAL: NULL, not begun, or something begun in it is still open. -EPERM: another's.  [fiber thread] */
int weft_shield_end(struct weft_shield *shield);

/* ---------------------------------------------------------------------------------------------
 * Clean-up: what is to be done if the fiber ends here
 * ------------------------------------------------------------------------------------------ */

struct weft_cleanup {
    uint64_t opaque[4];
};

/*
 * From now on until the pop, weft_exit calls fn(arg), in a shield, the last pushed first and in turn
 * with the ends of open scopes. The memory is the caller's, and stays until the pop. A fiber that
 * returns runs what is left, too, unless it lies in its own frames, which are gone: that ends the program.
 * -EINVAL: NULL. -EBUSY: it is pushed already. -EPERM: the caller is no fiber.  [fiber]
 */
int weft_cleanup_push(struct weft_cleanup *cleanup, void (*fn)(void *), void *arg);

/* Takes the last one back; run: calls it, in a shield as well. -EINVAL: NULL, or not the last. -EPERM.  [fiber] */
int weft_cleanup_pop(struct weft_cleanup *cleanup, int run);

/* Ends the calling fiber by weft_exit, with -ECANCELED or -ETIMEDOUT for a result, if it was asked to stop;
 * otherwise, in a shield and on a thread that is no fiber, does nothing. Not for forked calls and what loops call: see
 * weft_exit.  [fiber thread; may not return] */
void weft_exit_if_cancelled(void);

/* ---------------------------------------------------------------------------------------------
 * Who was cancelled, and why
 * ------------------------------------------------------------------------------------------ */

enum {
    WEFT_BY_REQUEST = 1, /* weft_cancel, weft_scope_cancel */
    WEFT_BY_FAILURE,     /* another in its scope failed */
    WEFT_BY_DEADLINE,    /* its scope's time was up */
};

struct weft_cancellation {
    struct weft_fiber fiber; /* probably stale; {0}: a thread */
    const char *where;       /* it was spawned; NULL: a thread */
    char name[16];
    uint64_t at; /* by weft_now() */
    int why;     /* WEFT_BY_... */
};

/* The fibers that were told last, since the runtime began, the latest first, n at most; returns how many. At
 * least 64 are kept. -EINVAL: list NULL and n not 0.  [fiber thread] */
int weft_cancellations(struct weft_cancellation *list, unsigned n);

#ifdef __cplusplus
}
#endif
#endif
