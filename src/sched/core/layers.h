/* SPDX-License-Identifier: MIT */
/*
 * Layers above the scheduler that must know when the runtime stops and when the process forks. See layers.c.
 */
#ifndef WEFT_SCHED_CORE_LAYERS_H
#define WEFT_SCHED_CORE_LAYERS_H

/* The functions of a layer; NULL: the layer needs none. The layer adds the struct once, before main. */
struct weft__layer {
    void (*stopped)(void); /* the runtime has stopped */
    void (*forked)(void);  /* this is a forked child: all threads but the caller are gone */
    struct weft__layer *next;
};
void weft__layer_add(struct weft__layer *layer);
void weft__layers_stopped(void);
void weft__layers_after_fork(void);

#endif
