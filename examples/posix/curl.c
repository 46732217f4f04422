/* SPDX-License-Identifier: MIT */
/*
 * Many fibers that fetch pages with libcurl's easy interface.
 *
 *     curl URL [FIBERS]
 */
#include "many.h"

#include <curl/curl.h>

enum { ROUNDS = 10 };
static const char *url;

static size_t count(char *data, size_t size, size_t n, void *bytes) {
    (void)data;
    *(size_t *)bytes += size * n;
    return size * n;
}

static int fetch(long number) {
    CURL *c = curl_easy_init();
    if (!c) return -1;
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L); /* as in every program with threads */
    curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L); /* the test's certificate is its own */
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, count);
    int result = 0;
    for (int i = 0; i < ROUNDS && !result; i++) {
        size_t bytes = 0;
        curl_easy_setopt(c, CURLOPT_WRITEDATA, &bytes);
        CURLcode code = curl_easy_perform(c);
        if (code || !bytes) result = -1;
        if (result) fprintf(stderr, "fiber %ld: %s, %zu bytes\n", number, curl_easy_strerror(code), bytes);
    }
    curl_easy_cleanup(c);
    return result;
}

int main(int argc, char **argv) {
    if (argc < 2) return fprintf(stderr, "curl URL [FIBERS]\n"), 2;
    url = argv[1];
    curl_global_init(CURL_GLOBAL_ALL); /* before other threads and fibers */
    int code = many_run(argc > 2 ? atoi(argv[2]) : 100, fetch);
    curl_global_cleanup();
    return code;
}
