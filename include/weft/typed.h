/* SPDX-License-Identifier: MIT */
/*
 * Channels of one type, whose items the compiler checks. weft.h says how to read this header.
 *
 *     WEFT_CHAN_TYPE(jobs, struct job);           defines struct jobs and its functions
 *
 *     struct jobs *queue = jobs_make(64);
 *     if (jobs_send(queue, job) == 0) ...         an item of another type does not compile
 *     while (jobs_recv(queue, &job) == 0) ...
 *
 * The functions are inline, and do what those of weft/chan.h do, with the same results.
 */
#ifndef WEFT_TYPED_H
#define WEFT_TYPED_H

#include "weft.h"

#define WEFT__TYPED_FN static inline __attribute__((unused))
#ifdef __cplusplus
#define WEFT__TYPED_CAST(type, pointer) reinterpret_cast<type>(pointer)
#else
#define WEFT__TYPED_CAST(type, pointer) ((type)(void *)(pointer))
#endif

/*
 * Defines struct NAME, a channel of items of this type, and its functions. Write a semicolon after it. The struct has
 * one member, `chan`. Allocate it by NAME_make, or initialise a variable with WEFT_CHAN_TYPED(type):
 *
 *   NAME_make(capacity), NAME_free(c)                                    as weft_chan_make, weft_chan_free
 *   NAME_send(c, item), NAME_send_until(c, item, time), NAME_send_try    the item is an argument
 *   NAME_recv(c, &item), NAME_recv_until(c, &item, time), NAME_recv_try  the item is stored
 *   NAME_close(c), NAME_len(c), NAME_cap(c)
 *   NAME_case_send(c, &item), NAME_case_recv(c, &item)                   cases for weft_case_select
 */
#define WEFT_CHAN_TYPE(name, type) \
    struct name { \
        struct weft_chan chan; \
    }; \
    WEFT__TYPED_FN struct name *name##_make(size_t capacity) { \
        return WEFT__TYPED_CAST(struct name *, weft_chan_make(sizeof(type), capacity)); \
    } \
    WEFT__TYPED_FN int name##_free(struct name *c) { return weft_chan_free(c ? &c->chan : NULL); } \
    WEFT_MUST_USE WEFT__TYPED_FN int name##_send(struct name *c, type item) { \
        return weft_chan_send(&c->chan, &item); \
    } \
    WEFT_MUST_USE WEFT__TYPED_FN int name##_send_until(struct name *c, type item, uint64_t deadline) { \
        return weft_chan_send_until(&c->chan, &item, deadline); \
    } \
    WEFT_MUST_USE WEFT__TYPED_FN int name##_send_try(struct name *c, type item) { \
        return weft_chan_send_try(&c->chan, &item); \
    } \
    WEFT_MUST_USE WEFT__TYPED_FN int name##_recv(struct name *c, type *item) { \
        return weft_chan_recv(&c->chan, item); \
    } \
    WEFT_MUST_USE WEFT__TYPED_FN int name##_recv_until(struct name *c, type *item, uint64_t deadline) { \
        return weft_chan_recv_until(&c->chan, item, deadline); \
    } \
    WEFT_MUST_USE WEFT__TYPED_FN int name##_recv_try(struct name *c, type *item) { \
        return weft_chan_recv_try(&c->chan, item); \
    } \
    WEFT__TYPED_FN int name##_close(struct name *c) { return weft_chan_close(&c->chan); } \
    WEFT__TYPED_FN size_t name##_len(const struct name *c) { return weft_chan_len(&c->chan); } \
    WEFT__TYPED_FN size_t name##_cap(const struct name *c) { return weft_chan_cap(&c->chan); } \
    WEFT__TYPED_FN struct weft_case name##_case_send(struct name *c, const type *item) { \
        struct weft_case made = WEFT_CASE_SEND(&c->chan, item); \
        return made; \
    } \
    WEFT__TYPED_FN struct weft_case name##_case_recv(struct name *c, type *item) { \
        struct weft_case made = WEFT_CASE_RECV(&c->chan, item); \
        return made; \
    } \
    struct name

/* Initialises a channel that WEFT_CHAN_TYPE defines, without a buffer, or with an array of its items as the buffer. */
#define WEFT_CHAN_TYPED(type) \
    { WEFT_CHAN_INIT(sizeof(type)) }
#define WEFT_CHAN_TYPED_BUFFERED(array) \
    { WEFT_CHAN_BUFFERED(array) }

#endif
