/* SPDX-License-Identifier: MIT */
/*
 * A run: the links, and the fiber that leads them through the warm-up and the measured part. See load.h.
 */
#include "fileset.h"
#include "load.h"
#include "progress.h"
#include "weft/sync.h"
#include "weft/tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#define DIALLING 64 /* links that connect at the same time; a server's queue of new connections is short */
#define TOLD_AFTER (2 * WEFT_SECOND)
#define TOLD_EVERY WEFT_SECOND

static struct weft_fiber *spawn_links(struct load *load, struct load_link **links) {
    struct weft_fiber *fibers = calloc(load->plan->connections, sizeof *fibers);
    for (unsigned i = 0; fibers && i < load->plan->connections; i++)
        if (weft_spawn(&fibers[i], NULL, load_drive, links[i])) {
            fprintf(stderr, "weft load: no memory for a fiber a connection\n");
            exit(1); /* the other links would wait for this link for ever */
        }
    return fibers;
}

/* Leads all links through one part. They wait at the first barrier, or are on their way there. */
static void lead_part(struct load *load, uint64_t duration, bool measured) {
    struct load_tally *tally = load->tally;
    const struct load_plan *plan = load->plan;
    (void)!weft_barrier_wait(&load->turn);
    load->measured = measured;
    tally->client_cpu = load_cpu(0);
    tally->server_cpu = plan->server ? load_cpu(plan->server) : 0;
    load->begin = weft_now();
    load->end = load->begin + duration;
    (void)!weft_barrier_wait(&load->turn);
}

static void end_part(struct load *load) {
    struct load_tally *tally = load->tally;
    (void)!weft_barrier_wait(&load->turn);
    tally->elapsed = weft_now() - load->begin;
    tally->client_cpu = load_cpu(0) - tally->client_cpu;
    if (!load->plan->server) return;
    tally->server_cpu = load_cpu(load->plan->server) - tally->server_cpu;
    uint64_t memory = load_memory(load->plan->server);
    tally->server_memory = memory > tally->server_memory ? memory - tally->server_memory : 0;
}

/* Shows the progress until the end. */
static void *tell(void *p) {
    const struct load *load = p;
    uint64_t last = 0, next = weft_now() + TOLD_AFTER;
    while (!__atomic_load_n(&load->ended, __ATOMIC_RELAXED)) {
        weft_sleep_for(100 * WEFT_MILLISECOND);
        if (weft_now() < next) continue;
        next += TOLD_EVERY;
        uint64_t answers = histogram_count(&load->tally->times);
        progress("%s: %.1f s of %s, %.1f k/s, %lu errors", load->plan->host, (double)(weft_now() - load->begin) / 1e9,
                 load->measured ? "measuring" : "warm-up", (double)(answers - last) / 1e3, load_faults(load->tally));
        last = answers;
    }
    return NULL;
}

static int run_links(struct load *load, struct load_link **links) {
    const struct load_plan *plan = load->plan;
    struct weft_fiber teller, *fibers;
    bool tells = !plan->silent && plan->warm_up + plan->duration > TOLD_AFTER;
    weft_barrier_init(&load->turn, plan->connections + 1);
    weft_sem_init(&load->dialling, DIALLING);
    if (!(fibers = spawn_links(load, links))) return -1;
    if (tells) tells = !weft_spawn(&teller, NULL, tell, load);
    if (plan->warm_up) lead_part(load, plan->warm_up, false);
    lead_part(load, plan->duration, true);
    end_part(load);
    __atomic_store_n(&load->ended, true, __ATOMIC_RELAXED);
    (void)!weft_barrier_wait(&load->turn);
    for (unsigned i = 0; i < plan->connections; i++) (void)!weft_join(fibers[i], NULL);
    if (tells) (void)!weft_join(teller, NULL);
    if (tells) progress_end();
    free(fibers);
    return 0;
}

static int run(void *p) {
    struct load *load = p;
    const struct load_plan *plan = load->plan;
    load->tally->problem = plan->tls ? load_secure_begin(load) : NULL;
    if (!load->tally->problem) load->tally->problem = plan->protocol->prepare(load);
    if (load->tally->problem && load_secure_problem()) load->tally->problem = load_secure_problem();
    struct load_link **links = calloc(plan->connections, sizeof *links);
    bool there = links != NULL;
    load->tally->server_memory = plan->server ? load_memory(plan->server) : 0;
    for (unsigned i = 0; there && !load->tally->problem && i < plan->connections; i++)
        there = (links[i] = load_link_new(load, i));
    if (!there || (!load->tally->problem && run_links(load, links))) load->tally->problem = "no memory";
    for (unsigned i = 0; links && i < plan->connections; i++) load_link_free(links[i]);
    free(links);
    free(load->content);
    if (load->set) fileset_free(load->set);
    free(load->set);
    weft_tls_context_destroy(load->tls);
    return 0;
}

void load_run(const struct load_plan *plan, struct load_tally *tally) {
    struct weft_config config = WEFT_CONFIG_INIT;
    struct load load = {.plan = plan, .tally = tally};
    *tally = (struct load_tally){.problem = NULL};
    config.workers = plan->workers;
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* also applies to the workers, so that arrivals are punctual */
    load_raise_descriptors(plan->connections + 256u);
    if (weft_run(run, &load, &config) < 0) tally->problem = "the runtime could not be started";
    tally->answers = histogram_count(&tally->times) - tally->unsent;
}

uint64_t load_faults(const struct load_tally *tally) {
    uint64_t sum = 0;
    for (int i = LOAD_FINE + 1; i < LOAD_FAULTS; i++) sum += __atomic_load_n(&tally->faults[i], __ATOMIC_RELAXED);
    return sum;
}
