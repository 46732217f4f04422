/* SPDX-License-Identifier: MIT */
/* See terminal.h. */
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static struct termios before;
static volatile sig_atomic_t is_raw, resized;

static void put(const char *text, size_t n) {
    while (n) {
        ssize_t wrote = write(STDOUT_FILENO, text, n);
        if (wrote < 0 && errno != EINTR && errno != EAGAIN) return;
        if (wrote <= 0) continue;
        text += wrote;
        n -= (size_t)wrote;
    }
}

void terminal_end(void) {
    static const char leave[] = "\033[?25h\033[?1049l";
    if (!is_raw) return;
    is_raw = 0;
    put(leave, sizeof leave - 1);
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static void on_end(int sig) {
    terminal_end();
    signal(sig, SIG_DFL);
    raise(sig);
}

static void on_resize(int sig) {
    (void)sig;
    resized = 1;
}

bool terminal_begin(void) {
    static const char enter[] = "\033[?1049h\033[?25l\033[H\033[2J";
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before)) return false;
    struct termios raw = before;
    cfmakeraw(&raw);
    raw.c_lflag |= ISIG; /* Ctrl-C and Ctrl-\ end the program */
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw)) return false;
    is_raw = 1;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        sigaction(ends[i], &(struct sigaction){.sa_handler = on_end}, NULL);
    sigaction(SIGWINCH, &(struct sigaction){.sa_handler = on_resize}, NULL);
    signal(SIGTSTP, SIG_IGN); /* the screen would stay as it is */
    atexit(terminal_end);
    put(enter, sizeof enter - 1);
    return true;
}

bool terminal_size(unsigned *width, unsigned *height) {
    struct winsize w;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || !w.ws_col || !w.ws_row) return false;
    *width = w.ws_col;
    *height = w.ws_row;
    return true;
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool has_input(int ms) {
    struct pollfd p = {STDIN_FILENO, POLLIN, 0};
    return poll(&p, 1, ms) > 0;
}

static int next_byte(void) {
    unsigned char c;
    return read(STDIN_FILENO, &c, 1) == 1 ? c : KEY_END_OF_INPUT;
}

/* What follows an escape: the rest of an arrow key, or nothing. */
static int after_escape(void) {
    if (!has_input(20)) return KEY_ESCAPE;
    int c = next_byte();
    if (c != '[' && c != 'O') return KEY_ESCAPE;
    c = has_input(20) ? next_byte() : 0;
    switch (c) {
    case 'A': return KEY_UP;
    case 'B': return KEY_DOWN;
    case '5':
    case '6':
        if (has_input(20)) next_byte();
        return c == '5' ? KEY_PAGE_UP : KEY_PAGE_DOWN;
    default: return KEY_NONE;
    }
}

int terminal_key(uint64_t deadline_ns) {
    for (;;) {
        uint64_t at = now();
        if (resized) {
            resized = 0;
            return KEY_RESIZE;
        }
        if (!has_input(at < deadline_ns ? (int)((deadline_ns - at + 999999) / 1000000) : 0)) {
            if (!resized && now() >= deadline_ns) return KEY_NONE;
            continue;
        }
        int c = next_byte();
        return c == '\033' ? after_escape() : c;
    }
}

void terminal_draw(const char *text, size_t n) {
    put("\033[H", 3);
    put(text, n);
    put("\033[J", 3);
}
