/* SPDX-License-Identifier: MIT */
/*
 * The list of the layers above the scheduler that must act when the runtime stops, or when the process forks.
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
