/* SPDX-License-Identifier: MIT */
/* One worker, and a fiber that blocks its kernel thread: the other fibers continue. Prints the name of that fiber. */
#include <stdio.h>
#include <unistd.h>
#include <weft.h>

static void *blocks(void *unused) {
    usleep(300000); /* a C call that does not know fibers */
    return unused;
}

static void *ticks(void *unused) {
    int n = 0;
    for (uint64_t end = weft_now() + 250 * WEFT_MILLISECOND; weft_now() < end; n++)
        weft_sleep_for(10 * WEFT_MILLISECOND);
    printf("%d ticks of 10 ms in a quarter of a second, beside it\n", n);
    struct weft_hog hog;
    if (weft_hogs(weft_cluster_self(), &hog, 1) > 0)
        printf("\"%s\", spawned at %s, keeps worker %u\n", hog.name, hog.where, hog.worker);
    return unused;
}

static int run(void *unused) {
    (void)unused;
    struct weft_fiber a, b;
    struct weft_attr attr = {.name = "blocks"};
    if (weft_spawn(&a, NULL, ticks, NULL) || weft_spawn(&b, &attr, blocks, NULL)) return 1;
    return weft_join(a, NULL) || weft_join(b, NULL);
}

int main(void) {
    struct weft_config config = {.workers = 1};
    return weft_run(run, NULL, &config) != 0;
}
