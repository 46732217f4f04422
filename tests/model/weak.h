/* SPDX-License-Identifier: MIT */
/*
 * Store buffers for the models. The stores of a thread stay in its buffer until the machine makes them visible, one at
 * a time and out of order, as aarch64 does:
 *
 *   - two stores to one word become visible in order;
 *   - a release becomes visible after all stores before it; later stores may pass it;
 *   - a full fence of the thread, or another thread's heavy fence, empties the buffer.
 *
 * The thread itself sees its stores at once. A swap acts on `memory`, after `fence`. That is the strongest possible
 * behaviour, so a model must not rely on the order of a swap and a later load of another word unless the source has a
 * fence between them. Loads happen in program order. explore/ checks, with the real source, where protocols need an
 * order of their loads.
 *
 * A model defines WORDS, BUFFERS (threads that have a buffer) and KEPT (entries in each, at most 4) before it includes
 * this file. -DIN_ORDER gives the store buffer of x86-64: oldest first.
 */
byte memory[WORDS];
typedef store_buffer {
    byte word[KEPT];
    byte value[KEPT];
    bool release[KEPT];
    byte count
}
store_buffer buffer[BUFFERS];

#define stores_elsewhere(b, i, j) (buffer[b].word[i] != buffer[b].word[j])
#ifdef IN_ORDER
#define can_pass(b, i) false
#else
#define can_pass(b, i) (buffer[b].count > i && !buffer[b].release[i])
#endif
#define drains_0(b) (buffer[b].count > 0)
#define drains_1(b) (can_pass(b, 1) && stores_elsewhere(b, 1, 0))
#define drains_2(b) (can_pass(b, 2) && stores_elsewhere(b, 2, 0) && stores_elsewhere(b, 2, 1))
#define drains_3(b) (can_pass(b, 3) && stores_elsewhere(b, 3, 0) && stores_elsewhere(b, 3, 1) && stores_elsewhere(b, 3, 2))

byte passed; /* a temporary variable, 0 between two steps; so is the next */
byte looked;

/* Makes store number i of the buffer visible. */
inline drain_at(b, i) {
    memory[buffer[b].word[i]] = buffer[b].value[i];
    passed = i + 1;
    do
    :: passed < buffer[b].count ->
        buffer[b].word[passed - 1] = buffer[b].word[passed];
        buffer[b].value[passed - 1] = buffer[b].value[passed];
        buffer[b].release[passed - 1] = buffer[b].release[passed];
        passed++
    :: else -> break
    od;
    buffer[b].count--;
    buffer[b].word[buffer[b].count] = 0;
    buffer[b].value[buffer[b].count] = 0;
    buffer[b].release[buffer[b].count] = false;
    passed = 0
}

inline fence(b) {
    d_step {
        do
        :: buffer[b].count > 0 -> drain_at(b, 0)
        :: else -> break
        od
    }
}

/* Waits for room. The machine drains at any time, so no order is lost. */
inline keep(b, w, v, is_release) {
    atomic {
        buffer[b].count < KEPT ->
        buffer[b].word[buffer[b].count] = w;
        buffer[b].value[buffer[b].count] = v;
        buffer[b].release[buffer[b].count] = is_release;
        buffer[b].count++
    }
}
#define store(b, w, v) keep(b, w, v, false)
#define store_release(b, w, v) keep(b, w, v, true)

inline load(b, w, to) {
    d_step {
        to = memory[w];
        do
        :: looked < buffer[b].count ->
            if
            :: buffer[b].word[looked] == w -> to = buffer[b].value[looked]
            :: else
            fi;
            looked++
        :: else -> break
        od;
        looked = 0
    }
}

proctype machine(byte b) {
end:
    do
    :: d_step { drains_0(b) -> drain_at(b, 0) }
#if KEPT > 1
    :: d_step { drains_1(b) -> drain_at(b, 1) }
#endif
#if KEPT > 2
    :: d_step { drains_2(b) -> drain_at(b, 2) }
#endif
#if KEPT > 3
    :: d_step { drains_3(b) -> drain_at(b, 3) }
#endif
    od
}
