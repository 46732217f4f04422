/* SPDX-License-Identifier: MIT */
/*
 * GLib's main loop, and fibers beside it: loop_glib <PORTS. The loop runs on the main thread, as in a program with a
 * window. A source of the loop begins a fiber for each line of standard input. Fibers hand their answers back by
 * g_idle_add, which any thread may call: the function that it is given runs in the loop.
 */
#include <glib-unix.h>
#include <glib.h>

#include "loop_fetch.h"

static GMainLoop *loop;
static int outstanding, more = 1; /* used by the loop only */

static void quit_if_done(void) {
    if (!more && !outstanding) g_main_loop_quit(loop);
}

/* In the loop. */
static gboolean show(gpointer arg) {
    struct answer *answer = arg;
    printf("%s: %s\n", answer->port, answer->text);
    fflush(stdout);
    free(answer);
    outstanding--;
    quit_if_done();
    return G_SOURCE_REMOVE;
}

/* On a worker. */
static void deliver(struct answer *answer) { g_idle_add(show, answer); }

static gboolean on_input(gint fd, GIOCondition condition, gpointer unused) {
    (void)fd, (void)condition, (void)unused;
    int begun = fetch_lines_of_input(deliver);
    more = begun >= 0;
    if (more) outstanding += begun;
    quit_if_done();
    return more ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

int main(void) {
    if (weft_start(NULL)) return 1;
    loop = g_main_loop_new(NULL, FALSE);
    g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP, on_input, NULL);
    g_main_loop_run(loop);
    g_main_loop_unref(loop);
    return weft_stop();
}
