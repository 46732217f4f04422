/* SPDX-License-Identifier: MIT */
/*
 * Calls that are mailed to a worker and can also be reached in a second way: through a deque, or by the sender. Both
 * ways lead to a proxy. The side that claims the proxy first runs the call:
 *
 *   the worker that finds the mail             the second way
 *   1. reads the call
 *   2. claims: first?                          1. claims: first?
 *   3. yes: runs the call                      2. yes: runs the call
 *      no: frees the proxy                        no: frees the proxy, and waits for the call
 *
 * So the call runs once, and the second side frees the proxy. The mail may be found long after the loop that sent it
 * has ended and its frames are gone. So the proxy is a record of a slab, and the second side touches nothing but the
 * proxy.
 *
 * The mail is a fresh fiber, which costs a record and no stack, in the mailbox that pinned fibers use, too
 * (sched/dispatch/make_ready.c). It is not pinned: the call may wait, and continue on another worker.
 */
#ifndef WEFT_PAR_MAIL_H
#define WEFT_PAR_MAIL_H

#include "par/par.h"

struct weft__proxy;

/* Mails fn(arg) to a worker of the caller's cluster. A fiber with the caller's stack size and priority runs it (par.h),
 * in no scope. Returns the proxy, which the caller must claim once. NULL: no memory, or no such worker yet; nothing was
 * mailed. */
struct weft__proxy *weft__mail_send(unsigned worker, void (*fn)(void *), void *arg, const char *name);

/* The second way, once. True: the caller must run the call. False: the mail was found, and the call runs or has run. */
bool weft__proxy_claim(struct weft__proxy *proxy);

#endif
