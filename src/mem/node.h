/*
 * Memory nodes: records and stacks are pooled by the node they were first touched on. A cache has the
 * number of the node its worker is on; what it takes was made there, and what it returns goes to
 * where it was made, whoever returns it. Only what lies in a cache may come from elsewhere, and that
 * is little. A pool that has none and cannot make more takes from another's.
 *
 * Nodes beyond so many share pools. Threads without a cache are on node 0.
 */
#ifndef WEFT_MEM_NODE_H
#define WEFT_MEM_NODE_H

#include <stdint.h>

#define WEFT_MEM_NODES 16

static inline uint8_t weft__mem_node(unsigned node) { return (uint8_t)(node % WEFT_MEM_NODES); }

#endif
