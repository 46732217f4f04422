/* SPDX-License-Identifier: MIT */
/*
 * Memory nodes: records and stacks are pooled by the node on which they were first touched. A cache has the node number
 * of its worker. It takes from the pool of that node, and every thread returns an item to the pool of its own node.
 * Only the few items in a cache may come from another node. If a pool is empty and cannot grow, other pools are used.
 *
 * Nodes beyond WEFT_MEM_NODES share pools. Threads without a cache use node 0.
 */
#ifndef WEFT_MEM_NODE_H
#define WEFT_MEM_NODE_H

#include <stdint.h>

#define WEFT_MEM_NODES 16

static inline uint8_t weft__mem_node(unsigned node) { return (uint8_t)(node % WEFT_MEM_NODES); }

#endif
