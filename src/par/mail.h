/*
 * Calls that are mailed to a worker, and can be had by another way, too: by a deque, or by the one that mailed
 * them. Both ways lead to a proxy, and whoever reaches it first runs the call:
 *
 *   the worker that finds the mail             the other way
 *   1. reads what is to be called
 *   2. reaches: was nobody there before?       1. reaches: was nobody there before?
 *   3. then it runs the call                   2. then it runs the call
 *      else it gives the proxy back               else it gives the proxy back, and waits for the call
 *
 * So the call is run once, and the proxy is given back once, by the second. The mail may be found long after
 * the loop that sent it has ended and its frames are gone, so the proxy stands in a slab, and whoever comes
 * second touches nothing but the proxy.
 *
 * The mail itself is a fiber that has not begun, which costs a record and no stack, in the mailbox in which
 * pinned fibers come, too (sched/ready.c). It is not pinned: what it calls may wait, and go on elsewhere.
 */
#ifndef WEFT_PAR_MAIL_H
#define WEFT_PAR_MAIL_H

#include "par/par.h"

struct weft__proxy;

/* Mails fn(arg) to a worker of the caller's cluster, who runs it in a fiber like the caller's (par.h), but in no scope.
 * The proxy, whose other way is the caller's; NULL: no memory, or no such worker yet, and nothing was mailed. */
struct weft__proxy *weft__mail_call(unsigned worker, void (*fn)(void *), void *arg, const char *name);

/* The other way, once. True: the call is the caller's to run; false: the mail was found, and it runs or has run. */
bool weft__proxy_reach(struct weft__proxy *proxy);

#endif
