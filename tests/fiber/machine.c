/* SPDX-License-Identifier: MIT */
/* The machine under a fiber: alignment, stack sizes, registers, errno, setjmp. */
#define _GNU_SOURCE
#include "fiber.h"

#include <alloca.h>
#include <setjmp.h>
#include <string.h>
#include <unistd.h>

/* --- the entry --------------------------------------------------------------------------------------------- */

/* The function of a fiber: returns its stack pointer at its first instruction. */
void *stack_pointer_at_entry(void *arg);
#if defined(__x86_64__)
__asm__(".text\n.globl stack_pointer_at_entry\n.type stack_pointer_at_entry, @function\n"
        "stack_pointer_at_entry: endbr64\n movq %rsp, %rax\n ret\n"
        ".size stack_pointer_at_entry, . - stack_pointer_at_entry\n");
enum { ENTRY_OFFSET = 8 }; /* the return address has been pushed */
#else
__asm__(".text\n.globl stack_pointer_at_entry\n.type stack_pointer_at_entry, %function\n"
        "stack_pointer_at_entry: hint #34\n mov x0, sp\n ret\n"
        ".size stack_pointer_at_entry, . - stack_pointer_at_entry\n");
enum { ENTRY_OFFSET = 0 };
#endif

static void *aligned_locals(void *arg) {
    _Alignas(16) volatile char a[16];
    _Alignas(64) volatile char b[64];
    a[0] = b[0] = 1;
    CHECK_EQ((uintptr_t)a % 16, 0);
    CHECK_EQ((uintptr_t)b % 64, 0);
    return arg;
}

static void alignment(void *unused) {
    (void)unused;
    for (int i = 0; i < 10; i++) { /* a new stack, and a reused stack */
        struct weft_fiber a = spawn(stack_pointer_at_entry, NULL), b = spawn(stack_pointer_at_entry, NULL);
        CHECK_EQ((uintptr_t)join(a) % 16, ENTRY_OFFSET);
        CHECK_EQ((uintptr_t)join(b) % 16, ENTRY_OFFSET);
        join(spawn(aligned_locals, NULL));
    }
}
TEST(the_stack_is_aligned_at_the_entry) { each_size(alignment); }

/* --- sizes --------------------------------------------------------------------------------------------------- */

/* The frames of weft and of this function need some space, and more with a sanitizer. */
#define FRAMES (TEST_ASAN || TEST_TSAN ? 14000 : 4000)

static void *uses_its_stack(void *arg) {
    size_t bytes = (size_t)arg - FRAMES;
    volatile char *all = alloca(bytes);
    for (size_t i = bytes; i > 0;) { /* downwards, as a stack grows */
        i = i > 1024 ? i - 1024 : 0;
        all[i] = (char)i;
    }
    weft_yield();
    for (size_t i = bytes; i > 0;) {
        i = i > 1024 ? i - 1024 : 0;
        CHECK_EQ(all[i], (char)i);
    }
    return NULL;
}
static void sizes(void *unused) {
    (void)unused;
    for (size_t size = 16384; size <= (size_t)64 << 20; size *= 4) {
        struct weft_attr attr = {.stack_size = size};
        join(spawn_with(&attr, uses_its_stack, (void *)size));
    }
    struct weft_attr odd = {.stack_size = 40000};
    join(spawn_with(&odd, uses_its_stack, (void *)65536)); /* rounded up */
    join(spawn(uses_its_stack, (void *)(128 * 1024)));
}
TEST(a_stack_is_usable_to_its_size) { each_size(sizes); }

TEST(a_stack_size_by_configuration) {
    struct weft_config config = {.workers = 1, .stack_size = 1 << 20};
    CHECK_EQ(weft_start(&config), 0);
    join(spawn(uses_its_stack, (void *)((size_t)1 << 20)));
    test_stop();
}

/* --- what a switch must keep --------------------------------------------------------------------------------- */

/* Enough live integers and floating-point values to fill every register of the compiler, across switches. */
static void *keeps_registers(void *arg) {
    uint64_t n = (uint64_t)(uintptr_t)arg, a = n + 1, b = n * 3, c = n ^ 5, d = n << 2, e = n + 7, f = n * 11,
             g = n - 1;
    double x = (double)n, y = x * 2, z = x / 3, u = x + 0.5, v = x * x, w = x - 1;
    for (int i = 0; i < 200; i++) {
        weft_yield();
        if (i % 50 == 0) CHECK_EQ(weft_sleep_for(1000), 0);
        CHECK(a == n + 1 && b == n * 3 && c == (n ^ 5) && d == n << 2 && e == n + 7 && f == n * 11 && g == n - 1);
        CHECK(x == (double)n && y == x * 2 && z == x / 3 && u == x + 0.5 && v == x * x && w == x - 1);
    }
    return NULL;
}
static void registers(void *unused) {
    (void)unused;
    struct weft_fiber f[10];
    for (uintptr_t i = 0; i < 10; i++) f[i] = spawn(keeps_registers, (void *)(i * 1000 + 3));
    for (int i = 0; i < 10; i++) join(f[i]);
}
TEST(values_survive_a_switch) { each_size(registers); }

/* --- errno ----------------------------------------------------------------------------------------------------- */

/*
 * After a switch, the address of errno from before the switch may belong to another thread. Here errno is used on both
 * sides of a switch, in one function, so that an optimiser could keep the address; after a move the
 * failing call sets the new thread's errno, and the test must read that errno.
 */
static int moves, stop;
static void *reads_errno(void *unused) {
    (void)unused;
    while (!LOAD(&stop)) {
        errno = ENOTTY;
        int before = weft_worker();
        CHECK_EQ(errno, ENOTTY);
        weft_park();
        errno = 0;
        CHECK_EQ(close(-1), -1);
        CHECK_EQ(errno, EBADF);
        if (weft_worker() != before) ADD(&moves, 1);
    }
    return NULL;
}
TEST_WITHIN(errno_after_a_move, 60) {
    enum { FIBERS = 6 };
    struct weft_fiber f[FIBERS];
    test_start(2);
    for (int i = 0; i < FIBERS; i++) f[i] = spawn(reads_errno, NULL);
    while (LOAD(&moves) < 200) { /* through the injector: any worker that is awake takes them */
        for (int i = 0; i < FIBERS; i++) CHECK_EQ(weft_unpark(f[i]), 0);
        weft_yield();
    }
    STORE(&stop, 1);
    for (int i = 0; i < FIBERS; i++) {
        CHECK_EQ(weft_unpark(f[i]), 0);
        join(f[i]);
    }
    test_stop();
}

/* --- setjmp ------------------------------------------------------------------------------------------------------ */

/* Through a pointer: it never returns, and compilers would complain. */
static int jump_back(jmp_buf *to, int depth);
static int (*volatile next_frame)(jmp_buf *to, int depth) = jump_back;
static int jump_back(jmp_buf *to, int depth) {
    volatile char fill[512];
    fill[depth] = (char)depth;
    if (!depth) longjmp(*to, 7);
    return next_frame(to, depth - 1) + fill[depth];
}
static void *jumps(void *arg) {
    for (volatile int i = 0; i < 20; i++) {
        jmp_buf buf;
        volatile int passes = 0;
        int came = setjmp(buf);
        passes++;
        weft_yield(); /* perhaps continues on another worker */
        if (!came) {
            CHECK_EQ(passes, 1);
            weft_yield();
            jump_back(&buf, 10);
        }
        CHECK_EQ(came, 7);
        CHECK_EQ(passes, 2);
    }
    return arg;
}
static void jumping(void *unused) {
    (void)unused;
    struct weft_fiber f[8];
    for (int i = 0; i < 8; i++) f[i] = spawn(jumps, NULL);
    for (int i = 0; i < 8; i++) join(f[i]);
}
TEST(setjmp_and_longjmp_in_a_fiber) { each_size(jumping); }
