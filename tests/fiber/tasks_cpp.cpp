/* Tasks from C++: of its own, and of another file, in C. */
#include "fiber.h"

#include "tasks_many.h"

struct pair {
    double a, b;
};

WEFT_TASK_2(pair, halves, int, n, double, x) {
    if (n == 0) return pair{x, x};
    WEFT_SPAWN(halves, n - 1, x);
    pair right = WEFT_CALL(halves, n - 1, x + 1);
    pair left = WEFT_SYNC(halves);
    return pair{left.a + right.a, left.b > right.b ? left.b : right.b};
}
WEFT_VOID_TASK_0(empty) {}

static void check_cpp(void *) {
    pair p = WEFT_RUN(halves, 10, 1.0);
    CHECK(p.a == 1024 * 6.0);
    CHECK(p.b == 11.0);
    WEFT_RUN(empty);
    CHECK_EQ(WEFT_RUN(across, 18), 2584);
    CHECK_EQ(WEFT_RUN(across_nothing), 1);
    long stored = 0;
    WEFT_RUN(across_store, &stored, 7L);
    CHECK_EQ(stored, 7);
    weft_task task = WEFT_TASK_INIT;
    int ran = 0;
    CHECK_EQ(weft_fork(
                 &task, [](void *p) { ++*static_cast<int *>(p); }, &ran),
             0);
    CHECK_EQ(weft_task_join(&task), 0);
    CHECK_EQ(ran, 1);
}
TEST(cpp) { each_size(check_cpp); }
