/* SPDX-License-Identifier: MIT */
/*
 * A chat server: chat PORT. Clients send lines; all other clients receive them. Try it with nc 127.0.0.1 PORT.
 *
 * Each client has two fibers. The reader takes lines from the socket and puts them into the channel of every other
 * client. The writer takes lines from its own channel and writes them to the socket. A client that reads too slowly
 * loses lines: weft_chan_send_try does not wait, so one client cannot hold up the others.
 */
#include <string.h>
#include <weft.h>

#include "net.h"

enum { CLIENTS = 1000, LINE = 512, QUEUED = 64 };

struct line {
    size_t size;
    char text[LINE];
};

struct client {
    int fd;
    unsigned number;
    struct weft_chan *lines; /* for the writer */
};

static struct weft_rwlock lock = WEFT_RWLOCK_INIT; /* protects the table */
static struct client *clients[CLIENTS];

static void tell_others(const struct client *except, const char *text) {
    struct line line;
    int n = snprintf(line.text, sizeof line.text, "%u: %s\n", except->number, text);
    line.size = (size_t)n < sizeof line.text ? (size_t)n : sizeof line.text - 1;
    weft_rwlock_read(&lock);
    for (int i = 0; i < CLIENTS; i++)
        if (clients[i] && clients[i] != except && weft_chan_send_try(clients[i]->lines, &line) == -EAGAIN)
            fprintf(stderr, "client %u is slow and loses a line\n", clients[i]->number);
    weft_rwlock_unlock_read(&lock);
}

static int write_lines(void *arg) {
    struct client *client = arg;
    struct line line;
    while (weft_chan_recv(client->lines, &line) == 0)
        if (weft_write(client->fd, line.text, line.size) < 0) return -EIO; /* cancels the reader */
    return 0;
}

/* Cuts what comes into lines. A line that is too long is cut where the buffer ends. */
static int read_lines(void *arg) {
    struct client *client = arg;
    char buffer[LINE - 16];
    size_t have = 0;
    for (;;) {
        ssize_t n = weft_read(client->fd, buffer + have, sizeof buffer - 1 - have);
        if (n <= 0) return weft_chan_close(client->lines); /* the writer ends when it has written what is left */
        have += (size_t)n;
        for (char *end; (end = memchr(buffer, '\n', have)) || have == sizeof buffer - 1;) {
            size_t size = end ? (size_t)(end - buffer) : have, gone = end ? size + 1 : have;
            buffer[size] = 0;
            if (size && buffer[size - 1] == '\r') buffer[size - 1] = 0;
            tell_others(client, buffer);
            memmove(buffer, buffer + gone, have -= gone);
        }
    }
}

static int enter(struct client *client) {
    static unsigned next;
    int place = -1;
    weft_rwlock_write(&lock);
    for (int i = 0; i < CLIENTS && place < 0; i++)
        if (!clients[i]) clients[place = i] = client;
    client->number = ++next;
    weft_rwlock_unlock_write(&lock);
    return place;
}

static int serve(void *connection) {
    struct client client = {.fd = (int)(intptr_t)connection, .lines = weft_chan_make(sizeof(struct line), QUEUED)};
    int place = client.lines ? enter(&client) : -1;
    if (place >= 0) {
        struct weft_scope both;
        tell_others(&client, "has come");
        weft_scope_begin(&both, WEFT_FOREVER);
        int err = weft_scope_spawn(&both, NULL, write_lines, &client);
        if (!err) err = weft_scope_spawn(&both, NULL, read_lines, &client);
        if (err) weft_scope_fail(&both, err);
        weft_scope_end(&both);
        weft_rwlock_write(&lock);
        clients[place] = NULL;
        weft_rwlock_unlock_write(&lock);
        tell_others(&client, "has gone");
    }
    weft_close(client.fd);
    weft_chan_free(client.lines);
    return 0;
}

static int run(void *port) { return serve_until_signal(port, serve); }

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: chat PORT\n"), 2;
    return weft_run(run, argv[1], NULL);
}
