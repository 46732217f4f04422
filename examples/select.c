/* SPDX-License-Identifier: MIT */
/* Select: waits for the first of two channels, the end, a time, or a deadline. */
#include <stdio.h>
#include <weft.h>

static struct weft_chan words = WEFT_CHAN_INIT(sizeof(const char *)), numbers = WEFT_CHAN_INIT(sizeof(int));
static struct weft_future end = WEFT_FUTURE_INIT;

static void *speaks(void *unused) {
    const char *text[] = {"warp", "weft"};
    for (int i = 0; i < 2; i++)
        if (weft_chan_send(&words, &text[i])) break;
    return unused;
}

static void *counts(void *unused) {
    for (int i = 1; i <= 3; i++) {
        weft_sleep_for(2 * WEFT_MILLISECOND);
        if (weft_chan_send(&numbers, &i)) break;
    }
    weft_future_set(&end, NULL); /* tells all waiters that it is over */
    return unused;
}

static int run(void *unused) {
    (void)unused;
    if (weft_spawn(NULL, NULL, speaks, NULL) || weft_spawn(NULL, NULL, counts, NULL)) return 1;
    uint64_t look_up = weft_now() + WEFT_MILLISECOND;
    for (;;) {
        const char *word;
        int number;
        struct weft_case cases[] = {
            WEFT_CASE_RECV(&words, &word),
            WEFT_CASE_RECV(&numbers, &number),
            WEFT_CASE_FUTURE(&end, NULL),
            WEFT_CASE_TIME(look_up),
        };
        /* Exactly one of the four cases is done. If several can be done, each is equally likely. */
        switch (weft_case_select_until(cases, 4, weft_now() + WEFT_SECOND)) {
        case 0: printf("a word: %s\n", word); break;
        case 1: printf("a number: %d\n", number); break;
        case 2: printf("the end\n"); return 0;
        case 3:
            printf("a millisecond is over\n");
            look_up = WEFT_FOREVER; /* once is enough */
            break;
        case -ETIMEDOUT: printf("nothing for a second\n"); return 1;
        default: return 1;
        }
    }
}

int main(void) { return weft_run(run, NULL, NULL); }
