/* SPDX-License-Identifier: MIT */
/*
 * memcached, text protocol: of a hundred requests `updates` are sets, the others gets, of random keys. The value of a
 * key follows from its number, so every returned value can be compared, whichever link wrote it last. See load.h.
 */
#include "load.h"
#include "weft/io.h"

#include <stdio.h>
#include <string.h>

#define DIGITS 9 /* bytes of a key: k and its number */
#define KEY (1 + DIGITS)
#define AROUND 64 /* bytes of the words and numbers of a command or an answer */
#define STORED "STORED\r\n"
#define MISSING "END\r\n"
#define VALUE_END "\r\nEND\r\n"

static const char *value_of(const struct load *load, uint32_t key) { return load->content + key % LOAD_OFFSETS; }

static char *put(char *out, const void *bytes, size_t size) { return (char *)memcpy(out, bytes, size) + size; }

static char *put_text(char *out, const char *text) { return put(out, text, strlen(text)); }

static char *put_number(char *out, uint32_t number, unsigned digits) {
    for (unsigned i = digits; i-- > 0; number /= 10) out[i] = (char)('0' + number % 10);
    return out + digits;
}

static char *put_key(char *out, uint32_t key) {
    *out = 'k';
    return put_number(out + 1, key, DIGITS);
}

/* Writes a set. The texts " 0 0 SIZE\r\n" of a set and " 0 SIZE\r\n" of a value are made once, because all values have
 * the same size. */
static char *put_set(const struct load *load, char *out, uint32_t key) {
    out = put_key(put_text(out, "set "), key);
    out = put(put_text(out, " 0"), load->request_text, load->request_size);
    out = put(out, value_of(load, key), load->content_size);
    return put_text(out, "\r\n");
}

static size_t request(struct load_link *link, unsigned i, char *out) {
    const struct load_plan *plan = link->load->plan;
    uint64_t x = load_random(link);
    struct load_asked *asked = &link->asked[i];
    asked->key = (uint32_t)(x * plan->keys >> 32);
    asked->update = (x * 7919 & 0xffff) * 100 < (uint64_t)plan->updates << 16;
    char *end = asked->update ? put_set(link->load, out, asked->key)
                              : put_text(put_key(put_text(out, "get "), asked->key), "\r\n");
    return (size_t)(end - out);
}

/* Returns the fault that an unexpected line means. Returns none while the line is incomplete. */
static enum load_fault other_line(const char *bytes, size_t size) {
    if (!memchr(bytes, '\n', size)) return LOAD_FINE;
    if (size >= 5 && !memcmp(bytes, MISSING, 5)) return LOAD_MISSING;
    return size >= 5 && !memcmp(bytes, "VALUE", 5) ? LOAD_LENGTH : LOAD_STATUS;
}

static size_t take_line(const char *bytes, size_t size, const char *wanted, bool *done, enum load_fault *fault) {
    size_t length = strlen(wanted), seen = size < length ? size : length;
    if (memcmp(bytes, wanted, seen)) {
        *fault = other_line(bytes, size);
        return 0;
    }
    *done = seen == length;
    return *done ? length : 0;
}

static size_t take(struct load_link *link, unsigned i, const char *bytes, size_t size, bool *done,
                   enum load_fault *fault) {
    const struct load *load = link->load;
    const struct load_asked *asked = &link->asked[i];
    if (asked->update) return take_line(bytes, size, STORED, done, fault);
    char head[AROUND];
    char *end = put_key(put_text(head, "VALUE "), asked->key);
    end = put(end, load->request_text, load->request_size);
    size_t length = (size_t)(end - head), seen = size < length ? size : length;
    if (memcmp(bytes, head, seen)) {
        *fault = other_line(bytes, size);
        return 0;
    }
    size_t all = length + load->content_size + strlen(VALUE_END);
    if (size < all) return 0;
    if (memcmp(bytes + length, value_of(load, asked->key), load->content_size)) *fault = LOAD_CONTENT;
    if (memcmp(bytes + length + load->content_size, VALUE_END, strlen(VALUE_END))) *fault = LOAD_LENGTH;
    *done = true;
    return all;
}

#define TOGETHER 32 /* sets under way while keys are stored */

static const char *preload(struct load *load) {
    struct load_plan all = *load->plan;
    all.depth = 1;
    struct load one = *load;
    one.plan = &all;
    one.request_room *= TOGETHER;
    one.answer_room *= TOGETHER;
    struct load_link *link = load_link_new(&one, 0);
    const char *problem = !link ? "no memory" : load_dial(link) ? "no connection to store the keys" : NULL;
    for (uint32_t key = 0; !problem && key < all.keys;) {
        char *end = link->out;
        unsigned n = 0;
        for (; n < TOGETHER && key < all.keys; n++) end = put_set(load, end, key++);
        size_t size = (size_t)(end - link->out), want = n * strlen(STORED), got = 0;
        if (load_send(link, link->out, size) != (ssize_t)size) problem = "keys could not be stored";
        while (!problem && got < want) {
            ssize_t r = load_receive(link, link->in + got, want - got);
            if (r <= 0) problem = "keys could not be stored: the connection ended";
            got += r > 0 ? (size_t)r : 0;
            if (!problem && memcmp(link->in, STORED, got < 8 ? got : 8)) problem = "keys could not be stored";
        }
        for (unsigned i = 0; !problem && i < n; i++)
            if (memcmp(link->in + i * strlen(STORED), STORED, strlen(STORED))) problem = "keys could not be stored";
    }
    load_link_free(link);
    return problem;
}

static const char *prepare(struct load *load) {
    static char size_text[AROUND];
    load->content_size = load->plan->size;
    load->request_room = load->answer_room = load->content_size + AROUND;
    load->request_size = (size_t)snprintf(size_text, sizeof size_text, " 0 %zu\r\n", load->content_size);
    load->request_text = size_text;
    load->content = load_pattern(load->content_size);
    if (!load->content) return "no memory";
    return load->plan->no_preload ? NULL : preload(load);
}

const struct load_protocol load_memcached = {"memcached", "11211", false, prepare, request, take};
