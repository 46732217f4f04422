/* SPDX-License-Identifier: MIT */
/*
 * The layers above the scheduler that want to know when the runtime has stopped, and when a process has forked.
 */
#include "sched/core/layers.h"

static struct weft__layer *layers;

void weft__layer_add(struct weft__layer *layer) {
    layer->next = layers;
    layers = layer;
}

void weft__layers_stopped(void) {
    for (struct weft__layer *l = layers; l; l = l->next)
        if (l->stopped) l->stopped();
}

void weft__layers_after_fork(void) {
    for (struct weft__layer *l = layers; l; l = l->next)
        if (l->forked) l->forked();
}
