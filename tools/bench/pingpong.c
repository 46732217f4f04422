/* SPDX-License-Identifier: MIT */
/*
 * pingpong: two fibers and two semaphores. Each fiber posts the semaphore of the other, and waits at its own.
 * Metric: ns per round trip.
 */
#include "benches.h"
#include "system.h"

struct game {
    struct alarm_clock alarm;
    APART struct sys_sem ping;
    APART struct sys_sem pong;
    APART uint64_t served, began, ended;
    bool over; /* this ping is the last */
    APART uint64_t returned;
};

static void *serve(void *p) {
    struct game *game = (struct game *)p;
    uint64_t count = 0;
    game->began = clock_ns();
    do {
        sys_sem_post(&game->ping);
        sys_sem_wait(&game->pong);
        count++;
    } while (!alarm_rung(&game->alarm));
    game->ended = clock_ns();
    game->served = count;
    game->over = true;
    sys_sem_post(&game->ping);
    return NULL;
}

static void *answer(void *p) {
    struct game *game = (struct game *)p;
    uint64_t count = 0;
    for (;;) {
        sys_sem_wait(&game->ping);
        if (game->over) break;
        count++;
        sys_sem_post(&game->pong);
    }
    game->returned = count;
    return NULL;
}

void bench_pingpong(const struct args *args, struct result *result) {
    struct game game;
    struct sys_fiber server, answerer;
    game.over = false;
    sys_sem_init(&game.ping, 0);
    sys_sem_init(&game.pong, 0);
    alarm_start(&game.alarm, arg(args, "ms"));
    sys_spawn(&answerer, answer, &game);
    sys_spawn(&server, serve, &game);
    sys_join(&server);
    sys_join(&answerer);
    alarm_join(&game.alarm);
    result->values[0] = (double)(game.ended - game.began) / (double)game.served;
    result->right = game.served == game.returned;
}
