/*
 * Planted faults, inside fibers. Each must be reported by the tool that looks for it; run.sh checks
 * that. "planted kind" says which tool this binary was built for.
 */
#include "weft.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define KIND "address"
#elif defined(__SANITIZE_THREAD__)
#define KIND "thread"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KIND "address"
#elif __has_feature(thread_sanitizer)
#define KIND "thread"
#endif
#endif
#ifndef KIND
#define KIND "none"
#endif

static volatile size_t index_beyond = 16; /* so that no compiler sees it */

/* Two fibers on two workers write one number, and nothing orders them. */
static int shared;
static _Atomic int arrived;

static void *racer(void *unused) {
    (void)unused;
    atomic_fetch_add_explicit(&arrived, 1, memory_order_relaxed);
    while (atomic_load_explicit(&arrived, memory_order_relaxed) < 2) {}
    for (int i = 0; i < 1000; i++) shared++;
    return NULL;
}

static void *heap(void *unused) {
    (void)unused;
    volatile char *p = malloc(16);
    weft_yield();
    p[index_beyond] = 1;
    weft_yield();
    free((void *)(uintptr_t)p);
    return NULL;
}

static void *stack(void *unused) {
    (void)unused;
    volatile char buffer[16];
    weft_yield();
    buffer[index_beyond] = 1;
    return NULL;
}

static void *freed(void *unused) {
    (void)unused;
    volatile char *p = malloc(16);
    free((void *)(uintptr_t)p);
    weft_yield();
    p[0] = 1;
    return NULL;
}

static void *uninitialised(void *unused) {
    (void)unused;
    volatile int array[4];
    weft_yield();
    if (array[index_beyond % 4]) puts("set");
    return NULL;
}

/* A pointer to a frame that was left, used after a switch. */
__attribute__((noinline)) static volatile char *of_a_frame(void) {
    volatile char buffer[16];
    volatile char *volatile p = buffer; /* or a compiler would return NULL instead */
    buffer[index_beyond % 16] = 1;
    return p;
}

static void *returned(void *unused) {
    (void)unused;
    volatile char *p = of_a_frame();
    weft_yield();
    if (p[index_beyond % 16]) puts("set");
    return NULL;
}

static void *leaked(void *unused) {
    (void)unused;
    volatile char *volatile p = malloc(16);
    weft_yield();
    p[0] = 1;
    p = NULL;
    return NULL;
}

/* Stands three calls deep in a fiber until a debugger has looked. */
__attribute__((noinline)) static void third(void) { abort(); }
__attribute__((noinline)) static void second(void) {
    third();
    __asm__ volatile("");
}
static void *deep(void *unused) {
    (void)unused;
    weft_yield();
    second();
    __asm__ volatile("");
    return NULL;
}

static const struct {
    const char *name;
    void *(*fn)(void *);
    unsigned fibers;
} faults[] = {{"race", racer, 2},   {"heap", heap, 1}, {"stack", stack, 1}, {"freed", freed, 1},
              {"returned", returned, 1}, {"leaked", leaked, 1},
              {"uninitialised", uninitialised, 1}, {"deep", deep, 1}};

static int run(void *name) {
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
        if (strcmp(faults[k].name, name)) continue;
        struct weft_fiber f[2];
        for (unsigned i = 0; i < faults[k].fibers; i++) {
            struct weft_attr attr = {.name = faults[k].name, .pinned = i + 1};
            weft_spawn(&f[i], &attr, faults[k].fn, NULL);
        }
        for (unsigned i = 0; i < faults[k].fibers; i++) weft_join(f[i], NULL);
        return 0;
    }
    return 2;
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    if (!strcmp(argv[1], "kind")) return puts(KIND) < 0;
    struct weft_config config = {.workers = 2};
    return weft_run(run, argv[1], &config);
}
