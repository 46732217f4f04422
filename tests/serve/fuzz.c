/* SPDX-License-Identifier: MIT */
/*
 * All code of the server that reads bytes of a client: heads, paths, ranges, dates, conditions, chunks. Besides the
 * sanitizer's checks: the result is the same for one piece and for two, results lie within the bytes, and a decoded
 * path does not lead out of the root.
 *
 * For libFuzzer (fuzz.sh), and for mutate.c.
 */
#include "../fuzz.h"

#include "chunks.h"
#include "condition.h"
#include "date.h"
#include "range.h"
#include "target.h"

static void within(struct text t, const char *data, size_t size) {
    SURE(!t.size || (t.size == 1 && *t.at == '/') || (t.at >= data && t.at + t.size <= data + size));
}

static void try_path(struct text raw) {
    char path[TARGET_MOST], again[3 * TARGET_MOST];
    int n = target_decode(raw, path);
    if (n < 0) return;
    SURE((size_t)n == strlen(path) && n < TARGET_MOST && path[0] != '/');
    for (const char *s = path; s; s = strchr(s, '/') ? strchr(s, '/') + 1 : NULL)
        SURE(strncmp(s, "..", 2) || (s[2] && s[2] != '/'));
    SURE(!strstr(path, "//"));
    SURE(target_encode(path, (size_t)n, again, sizeof again) <= sizeof again);
}

static void try_fields(const struct request *r) {
    struct range list[RANGES_MOST];
    static const uint64_t sizes[] = {0, 1, 1000, UINT64_MAX / 2};
    condition_check(r, TEXT("\"tag\""), 784111777);
    condition_range(r, TEXT("\"tag\""), 784111777);
    for (size_t i = 0; i < 4 && request_has(r, FIELD_RANGE); i++) {
        int n = range_parse(r->fields[FIELD_RANGE], sizes[i], list);
        SURE(n >= -1 && n <= RANGES_MOST);
        for (int k = 0; k < n; k++) SURE(list[k].first <= list[k].last && list[k].last < sizes[i]);
    }
}

static void try_chunks(const char *data, size_t size) {
    struct chunks whole = {0}, pieces = {0};
    size_t used = 0, one, sum = 0;
    int result = chunks_skip(&whole, data, size, &used), end = 0;
    SURE(used <= size && (result || used == size));
    while (sum < size && !end) {
        end = chunks_skip(&pieces, data + sum, 1, &one);
        sum += one;
    }
    SURE(end == result && sum == used);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    const char *data = (const char *)bytes;
    struct request r, again;
    int result = parse_head(&r, data, size, 0);
    size_t half = size / 2;
    if (parse_head(&again, data, half, 0) == PARSE_MORE) SURE(parse_head(&again, data, size, half) == result);
    try_chunks(data, size);
    if (result != PARSE_DONE) return 0;
    SURE(r.size <= size && r.size >= 4);
    within(r.path, data, r.size);
    within(r.query, data, r.size);
    for (int f = 0; f < FIELDS; f++) within(r.fields[f], data, r.size);
    try_path(r.path);
    try_fields(&r);
    try_chunks(data + r.size, size - r.size);
    return 0;
}
