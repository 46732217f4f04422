/* SPDX-License-Identifier: MIT */
/*
 * The end of a job.
 *
 *   rank 0                                        another rank
 *   1. main has returned: sends END
 *   2. finalises MPI                              1. reads END, finalises MPI
 *   3. waits for the LEAVE of each rank that is   2. sends LEAVE
 *      not lost                                   3. stops, and closes its sockets
 *   4. stops, and closes its sockets
 *
 * MPI_Finalize waits for all ranks. If a rank dies meanwhile, MPICH's waits for ever. So a thread calls it, and this
 * rank goes on to handle messages. If a rank is lost before its LEAVE, rank 0 notifies the others as always, and each
 * rank leaves its thread alone in MPI_Finalize.
 *
 * If a socket is closed with unread bytes, the bytes that the other side has not read are lost, too. So rank 0 closes
 * its sockets last.
 */
#include "dist/dist.h"

#include <mpi.h>
#include <pthread.h>
#include <signal.h>

/* What the thread shares with the rank. It outlives the job, because the thread may be left alone. */
static struct {
    pthread_mutex_t lock;
    bool started, done, alone;
} finalizer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *finalizer_main(void *unused) {
    (void)unused;
    MPI_Finalize();
    pthread_mutex_lock(&finalizer.lock);
    finalizer.done = true;
    if (!finalizer.alone) weft_unpark(weft__dist.main);
    pthread_mutex_unlock(&finalizer.lock);
    return NULL;
}

/* If there is no thread for it, the caller finalises MPI later, and cannot notice a loss. */
static void finalizer_start(void) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    finalizer.started = !pthread_create(&thread, NULL, finalizer_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (finalizer.started) pthread_detach(thread);
}

static bool finalizer_is_done(void) {
    pthread_mutex_lock(&finalizer.lock);
    bool done = finalizer.done;
    pthread_mutex_unlock(&finalizer.lock);
    return done;
}

bool weft__dist_finalized(void) { return finalizer.started; }

/* Rank 0: no rank needs this rank any more. */
static bool all_have_left(void) {
    struct weft__dist *d = &weft__dist;
    for (unsigned r = 1; r < d->ranks && !d->rank; r++)
        if (!weft__dist_is_lost(r) && !atomic_load(&d->peers[r].left)) return false;
    return true;
}

/* Called by the first fiber of each rank, once the result of the job is known. */
void weft__dist_leave(bool finalizes_mpi) {
    struct weft__dist *d = &weft__dist;
    atomic_store(&d->ended, true);
    for (unsigned r = 1; r < d->ranks && !d->rank; r++) weft__dist_control(r, WEFT_MSG_END, (uint64_t)d->status, 0);
    if (finalizes_mpi && d->ranks > 1 && !weft__dist_is_lossy()) finalizer_start();
    while (finalizer.started && !finalizer_is_done() && !weft__dist_is_lossy()) (void)!weft_park();
    while (!all_have_left()) (void)!weft_park();
    pthread_mutex_lock(&finalizer.lock);
    finalizer.alone = true; /* its fiber is about to end */
    pthread_mutex_unlock(&finalizer.lock);
    atomic_store(&d->left, true); /* before LEAVE: the other side may close its socket */
    if (d->rank) weft__dist_control(0, WEFT_MSG_LEAVE, 0, 0);
}
