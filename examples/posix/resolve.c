/* SPDX-License-Identifier: MIT */
/*
 * Many fibers that look up a name with the C library's getaddrinfo.
 *
 *     resolve [NAME [FIBERS]]
 */
#include "many.h"

#include <netdb.h>

static const char *name = "localhost";

static int look_up(long number) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    (void)number;
    int err = getaddrinfo(name, "80", &hints, &found);
    if (err) return fprintf(stderr, "%s: %s\n", name, gai_strerror(err)), -1;
    freeaddrinfo(found);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1) name = argv[1];
    return many_run(argc > 2 ? atoi(argv[2]) : 100, look_up);
}
