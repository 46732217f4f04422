/* SPDX-License-Identifier: MIT */
/* Two clusters: one for many small requests, one for a few long jobs. Neither holds up the other. */
#include <stdio.h>
#include <weft.h>

static void *job(void *unused) {
    for (volatile unsigned long i = 0; i < 30 * 1000 * 1000; i++) {
    }
    return unused;
}

static void *request(void *late) {
    uint64_t due = weft_now() + WEFT_MILLISECOND;
    weft_sleep_until(due);
    *(uint64_t *)late = weft_now() - due;
    return NULL;
}

static int run(void *unused) {
    (void)unused;
    enum { JOBS = 4, REQUESTS = 100 };
    struct weft_cluster jobs;
    struct weft_config config = {.workers = 1};
    struct weft_fiber f[JOBS + REQUESTS];
    uint64_t late[REQUESTS], most = 0;
    if (weft_cluster_create(&jobs, &config)) return 1;
    struct weft_attr there = {.name = "job", .cluster = jobs, .priority = WEFT_LOW};
    for (int i = 0; i < JOBS; i++)
        if (weft_spawn(&f[i], &there, job, NULL)) return 1;
    for (int i = 0; i < REQUESTS; i++)
        if (weft_spawn(&f[JOBS + i], NULL, request, &late[i])) return 1;
    for (int i = 0; i < JOBS + REQUESTS; i++)
        if (weft_join(f[i], NULL)) return 1;
    for (int i = 0; i < REQUESTS; i++)
        if (late[i] > most) most = late[i];
    printf("%d requests beside %d jobs: %.2f ms late at most\n", REQUESTS, JOBS, (double)most / 1e6);
    return weft_cluster_destroy(jobs);
}

int main(void) {
    struct weft_config config = {.workers = 2};
    return weft_run(run, NULL, &config) != 0;
}
