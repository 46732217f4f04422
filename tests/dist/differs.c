/* SPDX-License-Identifier: MIT */
/*
 * Jobs that must fail on all ranks, with one line.
 *   differs large   a result that no memory can hold
 *   differs die     rank 0 dies while the others work
 *   differs unregistered
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/dist.h>

static size_t enormous(const void *result) {
    (void)result;
    return SIZE_MAX / 4;
}
static void pack(const void *result, void *bytes) { (void)result, (void)bytes; }
static int unpack(void *result, const void *bytes, size_t size) { return (void)result, (void)bytes, (void)size, 0; }
static void make(const void *arg, void *result) { (void)arg, (void)result; }
static struct weft_remote large = {
    .name = "large", .fn = make, .result_size = enormous, .result_pack = pack, .result_unpack = unpack};

static int run(void *what) {
    char result;
    static const struct weft_remote unregistered = {.name = "unregistered", .fn = make};
    if (!strcmp(what, "unregistered")) return weft_dist_on(1, &unregistered, NULL, 0, NULL, 0) ? 1 : 0;
    if (!strcmp(what, "large")) return weft_dist_on(1, &large, NULL, 0, &result, 1) ? 1 : 0;
    weft_sleep_for(50 * WEFT_MILLISECOND);
    _exit(3);
}

int main(int argc, char **argv) {
    if (argc < 2 || weft_dist_register(&large)) return 2;
    return weft_dist_run(run, argv[1], NULL) ? 1 : 0;
}
