/* SPDX-License-Identifier: MIT */
/*
 * The data that rank 0 keeps for all ranks: shared numbers and committed keys. Also questions that wait for an answer.
 */
#include "dist/dist.h"

enum { WEFT_NUMBER_MAX, WEFT_NUMBER_ADD, WEFT_NUMBER_GET, WEFT_NUMBER_WAIT, WEFT_NUMBER_COMMIT };

/* --- questions ------------------------------------------------------------------------------------------ */

void weft__dist_wait_begin(struct weft__dist_wait *wait, unsigned to) {
    struct weft__dist *d = &weft__dist;
    *wait = (struct weft__dist_wait){.fiber = weft_self(), .to = to};
    weft_mutex_lock(&d->lock);
    wait->cookie = ++d->cookie;
    wait->next = d->waits;
    d->waits = wait;
    if (weft__dist_is_lost(to)) wait->error = -EOWNERDEAD, weft__dist_answer(wait->cookie, 0, NULL, 0);
    weft_mutex_unlock(&d->lock);
}

/* Waits for the answer, even if the caller is cancelled, because it comes soon. */
int weft__dist_wait_end(struct weft__dist_wait *wait) {
    struct weft_shield shield;
    weft_shield_begin(&shield);
    while (!atomic_load(&wait->done)) (void)!weft_park();
    weft_shield_end(&shield);
    weft_mutex_lock(&weft__dist.lock); /* once the handler has unlocked, it no longer uses `wait` */
    weft_mutex_unlock(&weft__dist.lock);
    return wait->error;
}

/* Locked. */
void weft__dist_answer(uint64_t cookie, uint64_t value, const void *bytes, size_t size) {
    for (struct weft__dist_wait **w = &weft__dist.waits; *w; w = &(*w)->next) {
        struct weft__dist_wait *wait = *w;
        if (wait->cookie != cookie) continue;
        *w = wait->next;
        wait->value = value;
        if (wait->keep) {
            wait->result = malloc(size ? size : 1);
            wait->result_size = wait->result ? size : 0;
        }
        if (bytes && size <= wait->result_size) memcpy(wait->result, bytes, size);
        struct weft_fiber fiber = wait->fiber;
        atomic_store(&wait->done, true);
        weft_unpark(fiber);
        return;
    }
}

/* --- numbers -------------------------------------------------------------------------------------------- */

struct asker {
    struct asker *next;
    unsigned from;
    uint64_t cookie;
};

struct number {
    struct number *next;
    uint64_t id;
    int64_t max, count;
    struct weft_dist_number *here; /* this rank's own variable; NULL: it has not used it yet */
    struct asker *askers;          /* rank 0: ranks that wait for 0 */
};
static struct number *numbers;
static uint64_t *keys; /* rank 0: committed; 0: free */
static size_t keys_used, keys_room;

static struct number *find_shared(uint64_t id) {
    for (struct number *n = numbers; n; n = n->next)
        if (n->id == id) return n;
    struct number *n = calloc(1, sizeof *n);
    if (!n) weft__dist_die("no memory for a shared number");
    *n = (struct number){.next = numbers, .id = id};
    return numbers = n;
}

static void raise_here(struct number *n, int64_t value) {
    if (value > n->max) n->max = value;
    if (n->here && value > weft_dist_max_get(n->here)) __atomic_store_n(&n->here->value, n->max, __ATOMIC_RELAXED);
}

static void send_reply(unsigned to, uint64_t cookie, uint64_t value) {
    if (to == weft__dist.rank)
        weft__dist_answer(cookie, value, NULL, 0);
    else
        weft__dist_send(to, WEFT_MSG_ANSWER, 0, cookie, value, NULL, 0);
}

static bool key_insert(uint64_t key) {
    if (!key) key = UINT64_C(0x9e3779b97f4a7c15); /* 0 marks free slots */
    if (2 * keys_used >= keys_room) {
        size_t room = keys_room ? keys_room * 2 : 1024;
        uint64_t *old = keys, *new = calloc(room, sizeof *new);
        if (!new) weft__dist_die("no memory for committed keys");
        for (size_t i = 0; i < keys_room; i++) {
            size_t at = old[i] * UINT64_C(0x9e3779b97f4a7c15) % room;
            while (old[i] && new[at]) at = (at + 1) % room;
            if (old[i]) new[at] = old[i];
        }
        free(old);
        keys = new;
        keys_room = room;
    }
    size_t at = key * UINT64_C(0x9e3779b97f4a7c15) % keys_room;
    for (; keys[at]; at = (at + 1) % keys_room)
        if (keys[at] == key) return false;
    keys[at] = key;
    keys_used++;
    return true;
}

static void number_raised(struct number *n, unsigned by, int64_t value) {
    struct weft__dist *d = &weft__dist;
    if (value <= n->max) return;
    raise_here(n, value);
    for (unsigned r = 1; r < d->ranks && !d->rank; r++)
        if (r != by) weft__dist_send(r, WEFT_MSG_NUMBER, WEFT_NUMBER_MAX, n->id, (uint64_t)value, NULL, 0);
}

static void number_added(struct number *n, int64_t value) {
    n->count += value;
    while (!n->count && n->askers) {
        struct asker *a = n->askers;
        n->askers = a->next;
        send_reply(a->from, a->cookie, 0);
        free(a);
    }
}

static void number_awaited(struct number *n, unsigned from, uint64_t cookie) {
    if (!n->count) {
        send_reply(from, cookie, 0);
        return;
    }
    struct asker *a = malloc(sizeof *a);
    if (!a) weft__dist_die("no memory for a shared number");
    *a = (struct asker){n->askers, from, cookie};
    n->askers = a;
}

/* Locked. */
void weft__dist_number(unsigned from, const struct weft__dist_head *head) {
    switch (head->flags) {
    case WEFT_NUMBER_MAX: number_raised(find_shared(head->a), from, (int64_t)head->b); break;
    case WEFT_NUMBER_ADD: number_added(find_shared(head->a), (int64_t)head->b); break;
    case WEFT_NUMBER_GET: send_reply(from, head->b, (uint64_t)find_shared(head->a)->count); break;
    case WEFT_NUMBER_WAIT: number_awaited(find_shared(head->a), from, head->b); break;
    case WEFT_NUMBER_COMMIT: send_reply(from, head->b, key_insert(head->a)); break;
    default: weft__dist_die("rank %u asks for an unknown operation on a number", from);
    }
}

void weft__dist_numbers_free(void) {
    for (struct number *next; numbers; numbers = next) {
        next = numbers->next;
        if (numbers->here) numbers->here->id = 0;
        for (struct asker *a = numbers->askers, *after; a; a = after) {
            after = a->next;
            free(a);
        }
        free(numbers);
    }
    free(keys);
    keys = NULL;
    keys_used = keys_room = 0;
}

/* Sends a message to rank 0, which may be this rank. */
static void to_first(uint32_t flags, uint64_t a, uint64_t b) {
    struct weft__dist *d = &weft__dist;
    struct weft__dist_head head = {WEFT_MSG_NUMBER, flags, 0, a, b};
    if (d->rank) {
        weft__dist_send(0, WEFT_MSG_NUMBER, flags, a, b, NULL, 0);
        return;
    }
    weft_mutex_lock(&d->lock);
    weft__dist_number(0, &head);
    weft_mutex_unlock(&d->lock);
}

static int ask_first(uint32_t flags, uint64_t a, uint64_t *value) {
    struct weft__dist_wait wait;
    weft__dist_wait_begin(&wait, 0);
    to_first(flags, a, wait.cookie);
    int err = weft__dist_wait_end(&wait);
    *value = wait.value;
    return err;
}

/* Computes the id of this name. The first use on a rank raises the number to the value that the rank knows already. */
static int is_known_name(struct weft_dist_number *number, uint64_t *id) {
    if (!number || !number->name) return -EINVAL;
    *id = __atomic_load_n(&number->id, __ATOMIC_ACQUIRE); /* pairs with the store below */
    if (*id) return 0;
    *id = UINT64_C(14695981039346656037);
    for (const char *c = number->name; *c; c++) *id = (*id ^ (unsigned char)*c) * UINT64_C(1099511628211);
    if (!atomic_load(&weft__dist.running)) return 0;
    weft_mutex_lock(&weft__dist.lock);
    struct number *n = find_shared(*id);
    n->here = number;
    raise_here(n, n->max);
    __atomic_store_n(&number->id, *id, __ATOMIC_RELEASE);
    weft_mutex_unlock(&weft__dist.lock);
    return 0;
}

WEFT_EXPORT int weft_dist_max(struct weft_dist_number *number, int64_t value) {
    uint64_t id;
    int err = is_known_name(number, &id);
    int64_t old = err ? 0 : weft_dist_max_get(number);
    while (!err && value > old)
        if (__atomic_compare_exchange_n(&number->value, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            if (atomic_load(&weft__dist.running)) to_first(WEFT_NUMBER_MAX, id, (uint64_t)value);
            break;
        }
    return err;
}

WEFT_EXPORT int weft_dist_count_add(struct weft_dist_number *number, int64_t value) {
    uint64_t id;
    int err = is_known_name(number, &id);
    if (!err && !atomic_load(&weft__dist.running))
        __atomic_fetch_add(&number->value, value, __ATOMIC_RELAXED);
    else if (!err)
        to_first(WEFT_NUMBER_ADD, id, (uint64_t)value);
    return err;
}

WEFT_EXPORT int weft_dist_count_get(struct weft_dist_number *number, int64_t *value) {
    uint64_t id, got;
    int err = is_known_name(number, &id);
    if (err || !value) return -EINVAL;
    if (!weft_self().id) return -EPERM;
    if (!atomic_load(&weft__dist.running)) return *value = weft_dist_max_get(number), 0;
    err = ask_first(WEFT_NUMBER_GET, id, &got);
    *value = (int64_t)got;
    return err;
}

WEFT_EXPORT int weft_dist_count_wait(struct weft_dist_number *number) {
    uint64_t id, got;
    int err = is_known_name(number, &id);
    if (err) return err;
    if (!weft_self().id || !atomic_load(&weft__dist.running)) return -EPERM;
    return ask_first(WEFT_NUMBER_WAIT, id, &got);
}

WEFT_EXPORT int weft_dist_commit(uint64_t key) {
    uint64_t first;
    if (!weft_self().id) return -EPERM;
    if (!atomic_load(&weft__dist.running)) return 1; /* without a job every call runs once */
    int err = ask_first(WEFT_NUMBER_COMMIT, key, &first);
    return err ? err : (int)first;
}
