/* SPDX-License-Identifier: MIT */
/* Prints the results, for people and for programs. See load.h. */
#include "load.h"

#include <stdio.h>

const char *const load_fault_names[LOAD_FAULTS] = {
    "fine",   "refused", "not connected", "handshake", "closed",  "short",
    "status", "length",  "content",       "missing",   "timeout",
};

static const struct {
    const char *name;
    double p;
} percentiles[] = {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}};
#define PERCENTILES (sizeof percentiles / sizeof *percentiles)

static double us(uint64_t nanoseconds) { return (double)nanoseconds / 1e3; }

static double a_request(uint64_t cpu, const struct load_tally *tally) {
    return tally->answers ? us(cpu) / (double)tally->answers : 0;
}

/* Prints the times. Requests without an answer have no time: their number is printed beside the times. */
static void times_for_people(const struct load_plan *plan, const struct load_tally *tally) {
    uint64_t late = tally->faults[LOAD_TIMEOUT], others = load_faults(tally) - late;
    if (!tally->answers) {
        printf("  time us   none: no request was answered\n");
        return;
    }
    printf("  time us   mean %.1f", histogram_mean(&tally->times) / 1e3);
    for (size_t i = 0; i < PERCENTILES; i++)
        printf(", %s %.1f", percentiles[i].name, us(histogram_percentile(&tally->times, percentiles[i].p)));
    printf(", max %.1f; from the %s, in steps of 1.6 %%\n", us(tally->times.max),
           plan->rate > 0 ? "scheduled arrival" : "sending");
    if (!late && !others) return;
    printf("            without");
    if (late) printf(" %lu timed out, each after more than %.6g us", late, us(plan->timeout));
    printf("%s", late && others ? ", and" : "");
    if (others) printf(" %lu with other errors", others);
    printf("\n");
}

static void for_people(const struct load_plan *plan, const struct load_tally *tally) {
    double seconds = (double)tally->elapsed / 1e9;
    printf("%s %s: %u connection%s%s, depth %u, ", plan->protocol->name, plan->host, plan->connections,
           plan->connections == 1 ? "" : "s", plan->one_request ? ", each for one exchange" : "", plan->depth);
    if (plan->rate > 0)
        printf("open loop at %.6g a second\n", plan->rate);
    else
        printf("closed loop\n");
    if (plan->session) {
        printf("  sessions  of %u requests, each on a connection of its own", plan->session);
        if (plan->think > 0) printf(", with pauses of %g s on average", plan->think);
        printf("\n");
    }
    printf("  requests  %lu in %.2f s, %.1f a second, %.1f MB a second\n", tally->answers, seconds,
           (double)tally->answers / seconds, (double)tally->bytes / seconds / 1e6);
    if (plan->rate > 0) printf("  unsent    %lu at the end, though due\n", tally->unsent);
    printf("  errors    %lu", load_faults(tally));
    for (int i = LOAD_FINE + 1; i < LOAD_FAULTS; i++)
        if (tally->faults[i]) printf(", %s: %lu", load_fault_names[i], tally->faults[i]);
    printf("\n");
    times_for_people(plan, tally);
    printf("  CPU us    %.2f a request here", a_request(tally->client_cpu, tally));
    if (plan->server) printf(", %.2f in process %d", a_request(tally->server_cpu, tally), plan->server);
    if (plan->server && !plan->one_request)
        printf("\n  memory    %.2f KiB a connection in process %d",
               (double)tally->server_memory / 1024 / plan->connections, plan->server);
    printf("\n");
}

/* Writes a time as JSON; null if there was no answer. */
static void time_for_programs(const struct load_tally *tally, const char *name, double value) {
    if (tally->answers)
        printf(",\"%s_us\":%.6g", name, value);
    else
        printf(",\"%s_us\":null", name);
}

static void for_programs(const struct load_plan *plan, const struct load_tally *tally) {
    printf("{\"protocol\":\"%s\",\"connections\":%u,\"depth\":%u,\"rate\":%.9g,\"session\":%u,\"think\":%g,"
           "\"requests\":%lu,\"seconds\":%.6f,"
           "\"per_second\":%.6g,\"bytes\":%lu,\"unsent\":%lu,\"errors\":%lu",
           plan->protocol->name, plan->connections, plan->depth, plan->rate, plan->session, plan->think, tally->answers,
           (double)tally->elapsed / 1e9, (double)tally->answers / ((double)tally->elapsed / 1e9), tally->bytes,
           tally->unsent, load_faults(tally));
    printf(",\"faults\":{");
    for (int i = LOAD_FINE + 1; i < LOAD_FAULTS; i++)
        printf("%s\"%s\":%lu", i == LOAD_FINE + 1 ? "" : ",", load_fault_names[i], tally->faults[i]);
    printf("}");
    time_for_programs(tally, "mean", histogram_mean(&tally->times) / 1e3);
    for (size_t i = 0; i < PERCENTILES; i++)
        time_for_programs(tally, percentiles[i].name, us(histogram_percentile(&tally->times, percentiles[i].p)));
    time_for_programs(tally, "max", us(tally->times.max));
    printf(",\"client_cpu_us\":%.6g,\"server_cpu_us\":%.6g,\"server_memory\":%lu}\n",
           a_request(tally->client_cpu, tally), a_request(tally->server_cpu, tally), tally->server_memory);
}

void load_report(const struct load_plan *plan, const struct load_tally *tally) {
    (plan->json ? for_programs : for_people)(plan, tally);
    fflush(stdout);
}
