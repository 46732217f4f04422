/* SPDX-License-Identifier: MIT */
/* Library calls that block their thread: a thread of the pool makes them while the fiber waits. */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft.h>
#include <weft/io.h>

/* Stands for a call into a library that does not know fibers. */
static void *slow(void *arg) {
    usleep(50 * 1000);
    *(int *)arg = 42;
    return arg;
}

static int run(void *unused) {
    (void)unused;
    /* The plain form returns only when the call has ended, so the call may use local variables. */
    int answer = 0;
    if (weft_blocking(slow, &answer, NULL)) return 1;
    printf("the answer is %d\n", answer);

    /* In the other form the call owns its argument on the heap. The caller can leave at its deadline; the call frees it
     * later. */
    struct weft_scope hurry;
    int *owned = calloc(1, sizeof *owned);
    weft_scope_begin(&hurry, weft_now() + 5 * WEFT_MILLISECOND);
    int err = weft_blocking_owned(slow, owned, free, NULL);
    weft_scope_end(&hurry);
    if (err == -ETIMEDOUT)
        printf("we did not wait for the next one\n");
    else
        free(owned); /* the call has ended: the memory belongs to this fiber again */

    /* Looking up names uses the same pool. */
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found;
    if (weft_getaddrinfo("127.0.0.1", "80", &hints, &found)) return 1;
    printf("an address of family %s\n", found->ai_family == AF_INET ? "IPv4" : "IPv6");
    freeaddrinfo(found);
    return 0;
}

int main(void) { return weft_run(run, NULL, NULL); }
