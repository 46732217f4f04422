/* SPDX-License-Identifier: MIT */
/*
 * Hooks that tell the checking tools about fibers: AddressSanitizer and ThreadSanitizer about every switch, valgrind
 * about every stack. The hooks are empty if the tool is not built in.
 *
 *   valgrind          learns of a stack by san_stack_register (a few instructions, always built in)
 *   AddressSanitizer  keeps a fake stack for each suspended flow, and the limits of the running stack
 *   ThreadSanitizer   treats each fiber as a flow of control; a switch orders the two flows
 */
#ifndef WEFT_BASE_SANITIZER_H
#define WEFT_BASE_SANITIZER_H

#include "base/base.h"

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WEFT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_TSAN 1
#endif
#endif

#if defined(WEFT_ASAN) || defined(WEFT_TSAN)
#define WEFT_SANITIZED 1
#else
#define WEFT_SANITIZED 0
#endif

/* When a runtime starts: says in one line, once, that the program runs with a sanitizer and this library was built
 * without. */
void weft__san_notice(void);

/* For a racy read that is only a hint. */
#ifdef WEFT_TSAN
#define WEFT_MAY_RACE __attribute__((no_sanitize("thread")))
#else
#define WEFT_MAY_RACE
#endif

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define san_valgrind_stack(low, top) ((void)VALGRIND_STACK_REGISTER(low, top))
#define san_on_valgrind() RUNNING_ON_VALGRIND
#else
#define san_on_valgrind() 0
#define san_valgrind_stack(low, top) ((void)0)
#endif

#ifdef WEFT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WEFT_TSAN
#include <sanitizer/tsan_interface.h>
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
/* ThreadSanitizer ignores writes between these two calls. */
#define san_ignore_begin() AnnotateIgnoreWritesBegin(__FILE__, __LINE__)
#define san_ignore_end() AnnotateIgnoreWritesEnd(__FILE__, __LINE__)
#else
#define san_ignore_begin() ((void)0)
#define san_ignore_end() ((void)0)
#endif

/* How many threads the tool itself runs once the process has a second thread. ThreadSanitizer starts one, and another
 * in a forked child. */
#ifdef WEFT_TSAN
#define san_threads(forked) ((forked) ? 2u : 1u)
#else
#define san_threads(forked) ((void)(forked), 0u)
#endif

/* For memory that a library maps and unmaps by calls that ThreadSanitizer does not see. The kernel may give the same
 * addresses to another thread at once. These hooks order the accesses of the first thread before those of the
 * second. */
#ifdef WEFT_TSAN
#define san_unmaps_unseen(token) __tsan_release(token)
#define san_mapped_unseen(token) __tsan_acquire(token)
#else
#define san_unmaps_unseen(token) ((void)(token))
#define san_mapped_unseen(token) ((void)(token))
#endif

/* Registers mapped memory that may hold pointers to the heap. LeakSanitizer would not scan it otherwise. */
#ifdef WEFT_ASAN
#include <sanitizer/lsan_interface.h>
#define san_root(memory, bytes) __lsan_register_root_region(memory, bytes)
#else
#define san_root(memory, bytes) ((void)(memory), (void)(bytes))
#endif

#if defined(WEFT_ASAN) || defined(WEFT_TSAN)
/* A flow of control: a fiber's stack, or a carrier's own stack. */
struct weft__san {
    void *fake;      /* AddressSanitizer */
    const void *low; /* limits of the stack; for a carrier's own stack they are learnt at its first switch */
    size_t size;
    void *thread; /* ThreadSanitizer */
};
/* Called when a stack was made. */
static inline void san_stack_register(struct weft__san *san, char *low, char *top) {
    san->low = low;
    san->size = (size_t)(top - low);
    san_valgrind_stack(low, top);
}
/* Always inlined: the sanitizer counts function entries and exits. It must not see a function that is entered in one
 * flow and left in another. */

/* Call before a switch from `from` to `to`. gone: no switch enters `from` again. */
static inline __attribute__((always_inline)) void san_leave(struct weft__san *from, struct weft__san *to, bool gone) {
    (void)from, (void)to, (void)gone;
#ifdef WEFT_ASAN
    __sanitizer_start_switch_fiber(gone ? NULL : &from->fake, to->low, to->size);
#endif
#ifdef WEFT_TSAN
    void *ended = gone ? from->thread : NULL;
    if (gone) from->thread = NULL;
    if (!to->thread) to->thread = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(to->thread, 0);
    if (ended) __tsan_destroy_fiber(ended);
#endif
}
/* Call first after a switch, in `self`. home: the carrier's own flow; its bounds are learnt here. */
static inline __attribute__((always_inline)) void san_enter(struct weft__san *self, struct weft__san *home) {
    (void)self, (void)home;
#ifdef WEFT_ASAN
    const void *low = NULL;
    size_t size = 0;
    __sanitizer_finish_switch_fiber(self->fake, &low, &size);
    self->fake = NULL;
    if (!home->low) {
        home->low = low;
        home->size = size;
    }
#endif
}
/* A carrier starts: the running flow is its own. */
static inline void san_carrier(struct weft__san *home) {
    *home = (struct weft__san){0};
#ifdef WEFT_TSAN
    home->thread = __tsan_get_current_fiber();
#endif
}
/* Frames on this stack were abandoned without a return. */
static inline void san_unwound(const void *low, const void *top) {
    (void)low, (void)top;
#ifdef WEFT_ASAN
    __asan_unpoison_memory_region(low, (size_t)((const char *)top - (const char *)low));
#endif
}
/* The flow was left in the middle, and no switch enters it again. */
static inline void san_abandon(struct weft__san *san) {
    (void)san;
#ifdef WEFT_ASAN
    san_unwound(san->low, (const char *)san->low + san->size);
#endif
#ifdef WEFT_TSAN
    if (san->thread) __tsan_destroy_fiber(san->thread);
    san->thread = NULL;
#endif
}
#else
struct weft__san {
    char none[1];
};
#define san_stack_register(san, low, top) san_valgrind_stack(low, top)
#define san_leave(from, to, gone) ((void)(from), (void)(to))
#define san_enter(self, home) ((void)(self), (void)(home))
#define san_carrier(home) ((void)(home))
#define san_unwound(low, top) ((void)(low), (void)(top))
#define san_abandon(san) ((void)(san))
#endif

#endif
