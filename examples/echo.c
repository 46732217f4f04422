/* SPDX-License-Identifier: MIT */
/*
 * A server that sends back what it receives, and its clients, in one program. Each connection is a fiber: the code
 * reads as if each had a thread, and costs as much as an event loop.
 */
#include <weft/io.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum { CLIENTS = 200 };

static struct sockaddr_in address = {.sin_family = AF_INET};

static void *serve(void *connection) {
    int fd = (int)(intptr_t)connection;
    char text[64];
    /* If the client has disconnected, the send returns an error and raises no signal. */
    for (ssize_t n; (n = weft_recv(fd, text, sizeof text, 0)) > 0;)
        if (weft_send(fd, text, (size_t)n, 0) != n) break;
    weft_close(fd);
    return NULL;
}

/* Runs until the listener is closed. Without descriptors it waits until other connections have been closed. */
static void *accept_all(void *listener) {
    for (;;) {
        int fd = weft_accept((int)(intptr_t)listener, NULL, NULL);
        if (fd >= 0 && weft_spawn(NULL, NULL, serve, (void *)(intptr_t)fd))
            weft_close(fd);
        else if (fd >= 0)
            continue;
        else if (errno == EMFILE || errno == ENFILE)
            weft_sleep_for(WEFT_MILLISECOND);
        else if (errno != ECONNABORTED)
            return NULL;
    }
}

static void *ask(void *answered) {
    char text[] = "hello", back[sizeof text];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && !weft_connect(fd, (struct sockaddr *)&address, sizeof address)) {
        if (weft_write(fd, text, sizeof text) == sizeof text &&
            weft_recv(fd, back, sizeof back, MSG_WAITALL) == sizeof back && !strcmp(text, back))
            weft_counter_complete(answered);
    }
    weft_close(fd);
    return NULL;
}

static int run(void *unused) {
    struct weft_counter unanswered = WEFT_COUNTER_INIT;
    struct weft_fiber acceptor, clients[CLIENTS];
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, CLIENTS)) return 1;
    getsockname(listener, (struct sockaddr *)&address, &size);

    if (weft_spawn(&acceptor, NULL, accept_all, (void *)(intptr_t)listener)) return 1;
    weft_counter_add(&unanswered, CLIENTS);
    for (int i = 0; i < CLIENTS; i++)
        if (weft_spawn(&clients[i], NULL, ask, &unanswered)) return 1;
    for (int i = 0; i < CLIENTS; i++)
        if (weft_join(clients[i], NULL)) return 1;
    weft_close(listener); /* wakes the acceptor */
    if (weft_join(acceptor, NULL)) return 1;

    uint64_t missing = weft_counter_value(&unanswered);
    printf("%d clients were answered, by %s\n", CLIENTS - (int)missing, weft_io_engine());
    return (void)unused, missing != 0;
}

int main(void) { return weft_run(run, NULL, NULL); }
